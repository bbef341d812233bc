"""Everything that was done and seen in a drill, appended to one file; judged only afterwards.

A line is one event with its time on the machine's clock. What a sink held is kept beside it, every
content once, under its digest. Nothing is changed later: a check that is corrected can read an old
history again.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

FILE = "history.jsonl"
Row = tuple[Any, ...]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """Something that happened."""

    at: float


class Planned(Event, frozen=True, kw_only=True, tag="planned"):
    """What a sink must hold after each number of parts of the source."""

    sink: str
    contents: list[str]
    """By their digests; the first is that of no rows."""
    key: int | None = None
    """The column that is a key, when the newest row of each is kept."""
    sequence: int | None = None
    """The column that says which is newer."""
    left_out: list[str] = []
    """Of a state: its stores that differ every time, and are not compared."""


class Started(Event, frozen=True, kw_only=True, tag="started"):
    """A driver was started, to be killed at a point or, without one, to run to its end."""

    run: int
    point: str | None = None


class Reached(Event, frozen=True, kw_only=True, tag="reached"):
    """A driver reached a point of a protocol, or said a fact: `batch=3`."""

    run: int
    point: str


class Ended(Event, frozen=True, kw_only=True, tag="ended"):
    """The last process of a driver was gone."""

    run: int
    how: str
    fired: str | None = None
    """The point that struck."""
    is_killed: bool
    """By the point: by its signal, and not by the drill's own clock."""
    is_well: bool
    """It ended by itself, without an error."""
    timed_out: bool = False
    """The drill stopped it at its time limit."""
    cpu_seconds: float
    error: str = ""
    """What its log says went wrong, in one line."""


class Looked(Event, frozen=True, kw_only=True, tag="looked"):
    """A sink was read: by a reader beside the driver, or when the driver was dead."""

    by: str
    run: int
    sink: str
    parts: int | None
    """How many parts of the source its ledger tells of; None where there is no ledger."""
    content: str
    """By its digest."""


Happened = Planned | Started | Reached | Ended | Looked


class History:
    """The history of one drill, in a directory of its own; threads may share it."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / FILE
        self._contents = directory / "contents"
        self._lock = threading.Lock()
        self._contents.mkdir(parents=True, exist_ok=True)

    def append(self, event: Happened) -> None:
        """Write an event down."""
        with self._lock, self._file.open("ab") as file:
            file.write(msgspec.json.encode(event) + b"\n")

    def keep(self, rows: Iterable[Row]) -> str:
        """Keep what a sink holds, in whatever order it was read; return its digest."""
        text = "\n".join(sorted(map(format_row, rows)))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        path = self._contents / digest
        with self._lock:
            if not path.exists():
                path.write_text(text)
        return digest

    def events(self) -> list[Happened]:
        """Return what happened, in the order in which it was written down.

        A last line that was cut, because the drill was killed itself, did not happen.
        """
        lines = self._file.read_bytes().rpartition(b"\n")[0].splitlines()
        return [msgspec.json.decode(line, type=Happened) for line in lines]

    def content(self, digest: str) -> list[Row]:
        """Return what a sink held."""
        lines = (self._contents / digest).read_text().split("\n")
        return [parse_row(line) for line in lines if line]


def format_row(row: Iterable[object]) -> str:
    """Return a row as JSON; a map as its pairs, in an order of their own and with any keys."""
    return json.dumps([_plain(cell) for cell in row], default=str)


def _plain(cell: object) -> object:
    if isinstance(cell, dict):
        pairs = [[_plain(key), _plain(value)] for key, value in cell.items()]
        return sorted(pairs, key=partial(json.dumps, default=str))
    return [_plain(each) for each in cell] if isinstance(cell, list | tuple) else cell


def parse_row(line: str) -> Row:
    """Return a row that was written as JSON; arrays, maps and NaN as texts, to be compared."""
    cells = json.loads(line, parse_constant=str)
    return tuple(json.dumps(cell) if isinstance(cell, list) else cell for cell in cells)


def now() -> float:
    """Return the time as drivers write it down: the machine's, since it was started."""
    return time.monotonic()

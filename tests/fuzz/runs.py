"""Whole runs of `inspect` on a checkpoint in which one file is damaged.

The file is named for what it is, or what it holds was understood. One that `inspect` does not open
in a checkpoint without damage either (older state, for one) is neither: nothing is said of it.
"""

from __future__ import annotations

import faulthandler
import posixpath
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

import msgspec

from holdfast.checkpoint.layout import parse_name
from holdfast.cli.inspect_json import render_json
from holdfast.cli.inspect_text import render_text
from holdfast.cli.inspection import inspect_checkpoint
from holdfast.printable import printable
from holdfast.storage.memory import MemoryStorage
from tests.fuzz.damages import Damage, random_damage
from tests.fuzz.limits import LIMIT_S
from tests.fuzz.parsers import CHECKSUM, DATA_FILE, SIDECAR, parser_of, understands
from tests.fuzz.specimens import Specimen
from tests.fuzz.trials import Failure
from tests.unit.checkpoint.archives import ARCHIVES, open_archive

NOW = datetime(2030, 1, 1, tzinfo=UTC)
OPENED_OF_TEN = 9
"""So many of ten damaged files are ones that `inspect` opens."""
_STUCK_S = 60.0

WriterOptions = Literal["named", "understood", "not opened", "passed over"]
"""Passed over: an empty file of a whole version, for which an older one is loaded."""


class Recorded(MemoryStorage):
    """Remembers what was read."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.opened: set[str] = set()

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        self.opened.add(path)
        return super().read(path, start=start, length=length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a run showed."""

    text: tuple[str, ...]
    document: dict[str, Any]
    opened: frozenset[str]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCase:
    """One archive with one damaged file."""

    specimen: Specimen
    damage: Damage

    @property
    def name(self) -> str:
        """What repeats it."""
        return f"inspect:{self.specimen.name}:{self.damage}"

    @property
    def files(self) -> dict[str, bytes]:
        """Every file of the checkpoint, one of them damaged."""
        files = open_archive(self.specimen.archive).checkpoint.files
        return {**files, self.specimen.path: self.damage.apply(self.specimen.raw)}


def show(storage: Recorded) -> Shown:
    """Do what `holdfast inspect --state --files` does, in both forms."""
    began = time.monotonic()
    inspection = inspect_checkpoint(storage, state=True, files=True)
    text = tuple(printable(line) for line in render_text(inspection, now=NOW))
    document = msgspec.json.decode(render_json(inspection))
    seconds = time.monotonic() - began
    return Shown(text=text, document=document, opened=frozenset(storage.opened), seconds=seconds)


def try_inspect(case: RunCase) -> Failure | WriterOptions:
    """Say what is wrong with what `inspect` makes of a damaged checkpoint, or how it took it."""
    # Its threads cannot be interrupted: what is stuck ends the process, and says where.
    faulthandler.dump_traceback_later(_STUCK_S, exit=True)
    try:
        shown = show(Recorded(case.files))
    except Exception as error:  # noqa: BLE001 - any at all is the failure
        return Failure(case=case.name, why=f"raised {type(error).__name__}: {error}")
    finally:
        faulthandler.cancel_dump_traceback_later()
    if shown.seconds > LIMIT_S:
        return Failure(case=case.name, why=f"took {shown.seconds:.1f} s")
    if not all(line.isprintable() for line in shown.text):
        return Failure(case=case.name, why="steers the terminal")
    told = _judge(case, shown)
    if told is not None:
        return told
    return Failure(case=case.name, why="the file is opened, not understood and not named")


def _judge(case: RunCase, shown: Shown) -> WriterOptions | None:
    path = case.specimen.path
    if _is_named(case.specimen, named_in(shown.document)):
        return "named"
    if path not in shown.opened and path not in opened_in(case.specimen.archive):
        return "not opened"
    damaged = case.damage.apply(case.specimen.raw)
    if not damaged and path.endswith((".zip", ".snapshot")) and path not in shown.opened:
        return "passed over"
    return "understood" if understands(case.specimen.parser, path, damaged) else None


def _is_named(specimen: Specimen, named: dict[str, str]) -> bool:
    directory, base = posixpath.split(specimen.path)
    # A log entry that was changed can be named by the checksums that do not fit it any more.
    if not named.keys().isdisjoint({specimen.path, f"{directory}/.{base}.crc"}):
        return True
    if specimen.parser == CHECKSUM:  # named by the file that it is for
        return "checksum file" in named.get(specimen.path.removesuffix(".crc"), "")
    about = None
    if specimen.parser == DATA_FILE:  # named by the snapshot that needs it
        about = "/".join(specimen.path.split("/")[-2:])
    elif specimen.parser == SIDECAR:  # named by what it is for, or by the snapshot that needs that
        about = f"{directory}/{parse_name(specimen.path).target}"
    return about is not None and any(about in reason for reason in named.values())


def named_in(document: dict[str, Any]) -> dict[str, str]:
    """Return every path that is named as not being as it should, with the reason if it has one."""
    lists = [document[key] for key in ("leftovers", "forgotten_checksums", "edited", "foreign")]
    lists += [each[key] for each in document["operators"] for key in ("missing", "damaged")]
    unparsed = [document["unparsed"], *(each["damaged"] for each in document["stores"] or ())]
    return {path: "" for paths in lists for path in paths} | {
        each["path"]: each["reason"] for found in unparsed for each in found
    }


@cache
def opened_in(archive: str) -> frozenset[str]:
    """Return the files that `inspect` opens in a checkpoint without damage."""
    return show(Recorded(dict(open_archive(archive).checkpoint.files))).opened


def choose_runs(number: int, seed: int) -> Iterator[RunCase]:
    """Yield damaged checkpoints, evenly over the archives."""
    chance = random.Random(seed)
    archives = [chance.choice(ARCHIVES) for _ in range(number % len(ARCHIVES))]
    archives += list(ARCHIVES) * (number // len(ARCHIVES))
    for place, archive in enumerate(archives):
        files = {path: raw for path, raw in open_archive(archive).checkpoint.files.items() if raw}
        if place % 10 < OPENED_OF_TEN:
            files = {path: raw for path, raw in files.items() if path in opened_in(archive)}
        path = chance.choice(sorted(files))
        raw = files[path]
        parser = parser_of(path, raw)
        specimen = Specimen(archive=archive, path=path, raw=raw, parser=parser)
        yield RunCase(specimen=specimen, damage=random_damage(raw, chance))

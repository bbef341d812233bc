"""Drivers and plans of a files sink on a real store, with rows that no Spark has to compute."""

from __future__ import annotations

import json
import os
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.errors import WriteError
from holdfast.ids import BatchId
from holdfast.ledger import NO_BATCH, Apply, Decision, LedgerRow
from holdfast.sinks.files import writer as files_writer
from holdfast.sinks.files.directory import Directory
from holdfast.sinks.files.ledger import FilesLedgerStore
from holdfast.sinks.files.sink import Files
from holdfast.sinks.files.writer import FilesWriter
from holdfast.storage.location import parse_location
from holdfast.storage.move_local import LocalMover
from holdfast.storage.moving import Mover
from tests.ledger_rows import ROW, attempt
from tests.stand_ins import stand_in

Before = Callable[[str], None]
After = Callable[[str, Any], Any]
"""Hooks of a change: they get what it is, and after it its answer, and return the answer."""
BATCHES, FILES, ROWS = 3, 2, 2
"""Of a life, of a batch, and of a file."""


class KilledError(BaseException):
    """Raised instead of a kill: nothing after it reaches the disk."""


class StepMover:
    """Calls a hook before every change that it makes, and one with the answer after it."""

    def __init__(self, mover: Mover, before: Before | None, after: After | None) -> None:
        self._mover, self._before, self._after = mover, before, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mover, name)

    def _change(self, change: Callable[..., Any], *given: Any) -> Any:
        what = f"{change.__name__} {' '.join(each for each in given if isinstance(each, str))}"
        if self._before is not None:
            self._before(what)
        answer = change(*given)
        return answer if self._after is None else self._after(what, answer)

    def move(self, source: str, target: str) -> Any:
        return self._change(self._mover.move, source, target)

    def put_if_absent(self, path: str, data: bytes) -> Any:
        return self._change(self._mover.put_if_absent, path, data)

    def make_directory(self, path: str) -> Any:
        return self._change(self._mover.make_directory, path)

    def delete_tree(self, path: str) -> Any:
        return self._change(self._mover.delete_tree, path)


def rows_of(batch: int, *, generation: int = 1) -> list[list[str]]:
    """Return the rows of each file of a batch."""
    return [[f"{generation}.{batch}.{file}.{row}" for row in range(ROWS)] for file in range(FILES)]


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of a batch here, and wait for no disk."""
    stage_here(monkeypatch)


def stage_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of a batch here, and wait for no disk: thousands of lives are run."""
    monkeypatch.setattr(os, "fsync", lambda _: None)

    def stage(batch: Any, sink: Files, where: str) -> None:
        for number, rows in enumerate(batch.files):
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            batch.lake.write_file(where, f"part-{number}.{sink.format}", text)

    monkeypatch.setattr(files_writer, "stage", stage)


class Lake(ABC):
    """A directory, as readers and as drivers know it."""

    sink: Files

    @abstractmethod
    def mover(self) -> Mover:
        """Return what changes the directory that it is in."""

    @abstractmethod
    def write_file(self, where: str, name: str, text: str) -> None:
        """Write a file as a task of Spark does."""

    @abstractmethod
    def texts(self) -> Iterable[str]:
        """Return the text of every file that a glob finds, at any depth, hidden or not."""

    @abstractmethod
    def beside(self) -> Iterable[str]:
        """Return what is beside the directory: `STREAM/KIND/NAME`."""

    def open(self, before: Before | None = None, *, after: After | None = None) -> Directory:
        """Return the directory, as one process opens it."""
        mover: Any = StepMover(self.mover(), before, after)
        return Directory(mover, "readings")

    def ledger(
        self, before: Before | None = None, *, after: After | None = None
    ) -> FilesLedgerStore:
        """Return the ledger of one process."""
        directory = self.open(before, after=after)
        return FilesLedgerStore(self.sink, lambda: directory)

    def seen(self) -> Counter[str]:
        """Return what a reader sees that knows nothing of Holdfast; each batch is complete."""
        found: Counter[str] = Counter()
        for text in self.texts():
            found.update(json.loads(line) for line in text.splitlines())
        of_batch = Counter(row.rsplit(".", 2)[0] for row in found)
        assert set(of_batch.values()) <= {FILES * ROWS}, f"a part of a batch: {of_batch}"
        assert set(found.values()) <= {1}, f"a batch twice: {found}"
        return found

    def junk(self) -> list[str]:
        """Return what is beside the directory and is neither a token, a record nor kept."""
        return [each for each in self.beside() if each.split("/")[1] not in ("records", "kept")]


class DiskLake(Lake):
    """On a disk."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self.home = home
        self.sink = Files(str(home / "readings"), format="json")

    def mover(self) -> Mover:
        return LocalMover(parse_location(str(self.home)))

    def write_file(self, where: str, name: str, text: str) -> None:
        Path(where).mkdir(parents=True, exist_ok=True)
        Path(where, name).write_text(text)

    def texts(self) -> Iterable[str]:
        found = sorted((self.home / "readings").glob("**/*.json"))
        return [path.read_text() for path in found]

    def beside(self) -> Iterable[str]:
        home = self.home / ".readings.holdfast"
        return [str(path.relative_to(home)) for path in home.glob("*/*/*")]


class Driver:
    """One start of the stream."""

    def __init__(
        self,
        lake: Lake,
        *,
        epoch: int,
        before: Before | None = None,
        after: After | None = None,
    ) -> None:
        self.lake = lake
        self.epoch = epoch
        self.nonce = f"n{epoch}"
        self.ledger = lake.ledger(before, after=after)
        df = stand_in(SimpleNamespace(sparkSession=None))
        self.writer = FilesWriter(lake.sink, self.ledger, df=df, stream="readings")

    def start(self) -> LedgerRow | None:
        """Open the ledger, or fence it; None when another driver is newer."""
        self.writer.create()
        row = self.ledger.read("readings")
        if row is None:
            new = replace(ROW, epoch=self.epoch, nonce=self.nonce)
            return new if self.ledger.replace(None, new) else None
        assert isinstance(row, LedgerRow)
        return self.ledger.fence(row, epoch=self.epoch, nonce=self.nonce)

    def write(self, row: LedgerRow, number: int, rows: list[list[str]] | None = None) -> Decision:
        """Write one batch."""
        asked = attempt(number, generation=row.generation, epoch=self.epoch, nonce=self.nonce)
        files = rows_of(number, generation=row.generation) if rows is None else rows
        batch = SimpleNamespace(files=files, schema=SimpleNamespace(fields=[]), lake=self.lake)
        return self.writer.write(asked, stand_in(batch))

    def live(self) -> bool:
        """Start, and write what is missing of all batches; False when it was replaced."""
        row = self.start()
        if row is None:
            return False
        for number in range(row.last_batch + 1, BATCHES):
            if self.write(row, number) != Apply():
                return False
        return True


def all_rows(*, generation: int = 1, batches: int = BATCHES) -> Counter[str]:
    """Return the rows of every batch."""
    return Counter(
        row
        for batch in range(batches)
        for file in rows_of(batch, generation=generation)
        for row in file
    )


def opened(row: LedgerRow, *, epoch: int) -> LedgerRow:
    """Return the row of the next generation, which begins anew."""
    return replace(
        row,
        generation=row.generation + 1,
        epoch=epoch,
        nonce=f"n{epoch}",
        last_batch=NO_BATCH,
        digest=None,
        end_offsets="{}",
    )


def done(row: LedgerRow, *, generation: int, epoch: int) -> LedgerRow:
    """Return the row after all batches."""
    last = BATCHES - 1
    return replace(
        row,
        generation=generation,
        epoch=epoch,
        nonce=f"n{epoch}",
        last_batch=BatchId(last),
        digest=f"d{last}",
        end_offsets=f"e{last}",
    )


def killing(step: int) -> Before:
    """Return a hook that lets so many steps happen, and none after."""
    left = iter(range(step))

    def before(what: str) -> None:
        if next(left, None) is None:
            raise KilledError(what)

    return before


class Paused:
    """A driver in a thread of its own, which waits before one change of its second batch."""

    def __init__(self, lake: Lake, *, step: int) -> None:
        """Write the first batch, and begin the second up to the change."""
        self._halted, self._resumed = threading.Event(), threading.Event()
        self._left: Iterator[int] = iter(())
        self._driver = Driver(lake, epoch=1, before=self._before)
        row = self._driver.start()
        assert row is not None
        assert self._driver.write(row, 0) == Apply()
        self._left = iter(range(step))
        self._pool = ThreadPoolExecutor(1)
        self._written = self._pool.submit(self._driver.write, row, 1)
        self._written.add_done_callback(lambda _: self._halted.set())
        self._halted.wait()

    def _before(self, what: str) -> None:
        del what
        if (
            threading.current_thread() is not threading.main_thread()
            and next(self._left, None) is None
        ):
            self._halted.set()
            self._resumed.wait()

    @property
    def is_done(self) -> bool:
        """Whether it has written the batch before the change came."""
        return self._written.done()

    def go_on(self) -> None:
        """Resume it, and wait until it has ended."""
        self._resumed.set()
        self._written.exception()
        self._pool.shutdown()


def losing(step: int, *, is_sent_again: bool) -> tuple[After, list[str]]:
    """Return a hook that loses the answer to one change, which was made, and which one it was.

    Args:
        step: Which change.
        is_sent_again: Whether it is sent once more, so that a move finds no source; else no answer
            comes.
    """
    numbers = count()
    lost: list[str] = []

    def after(what: str, answer: Any) -> Any:
        if next(numbers) != step:
            return answer
        lost.append(what)
        if is_sent_again:
            return False if isinstance(answer, bool) else answer
        raise WriteError(what, why="No answer came.", how="Ask again.")

    return after, lost


def pausing(step: int, meanwhile: Callable[[], None]) -> tuple[Before, list[str]]:
    """Return a hook that runs something before one step, and where it did."""
    numbers = count()
    paused: list[str] = []

    def before(what: str) -> None:
        if next(numbers) == step:
            paused.append(what)
            meanwhile()

    return before, paused

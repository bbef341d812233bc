"""Drivers and plans of a files sink on a real disk, with rows that no Spark has to compute."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.ids import BatchId
from holdfast.ledger import NO_BATCH, Apply, Decision, LedgerRow
from holdfast.sinks.files import writer as files_writer
from holdfast.sinks.files.directory import Directory
from holdfast.sinks.files.ledger import FilesLedgerStore
from holdfast.sinks.files.sink import Files
from holdfast.sinks.files.writer import FilesWriter
from holdfast.storage.location import parse_location
from holdfast.storage.move_local import LocalMover
from tests.ledger_rows import ROW, attempt
from tests.stand_ins import stand_in

BATCHES, FILES, ROWS = 3, 2, 2
"""Of a life, of a batch, and of a file."""


class KilledError(BaseException):
    """Raised instead of a kill: nothing after it reaches the disk."""


class StepMover(LocalMover):
    """Calls a hook before every change that it makes."""

    before: Callable[[str], None] | None = None

    def _step(self, what: str) -> None:
        if self.before is not None:
            self.before(what)

    def move(self, source: str, target: str) -> bool:
        self._step(f"move {source} {target}")
        return super().move(source, target)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        self._step(f"put {path}")
        return super().put_if_absent(path, data)

    def make_directory(self, path: str) -> None:
        self._step(f"make {path}")
        super().make_directory(path)

    def delete_tree(self, path: str) -> None:
        self._step(f"delete {path}")
        super().delete_tree(path)


def rows_of(batch: int, *, generation: int = 1) -> list[list[str]]:
    """Return the rows of each file of a batch."""
    return [[f"{generation}.{batch}.{file}.{row}" for row in range(ROWS)] for file in range(FILES)]


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of a batch here, and wait for no disk: thousands of lives are run."""
    monkeypatch.setattr(os, "fsync", lambda _: None)

    def stage(batch: Any, sink: Files, where: str) -> None:
        Path(where).mkdir(parents=True)
        for number, rows in enumerate(batch.files):
            path = Path(where, f"part-{number}.{sink.format}")
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    monkeypatch.setattr(files_writer, "stage", stage)


class Lake:
    """A directory, as readers and as drivers know it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.sink = Files(str(home / "readings"), format="json")

    def open(self, before: Callable[[str], None] | None = None) -> Directory:
        """Return the directory, as one process opens it."""
        mover = StepMover(parse_location(str(self.home)))
        mover.before = before
        return Directory(mover, "readings")

    def ledger(self, before: Callable[[str], None] | None = None) -> FilesLedgerStore:
        """Return the ledger of one process."""
        directory = self.open(before)
        return FilesLedgerStore(self.sink, lambda: directory)

    def seen(self) -> Counter[str]:
        """Return what a reader sees that knows nothing of Holdfast; each batch is whole."""
        found: Counter[str] = Counter()
        for path in sorted((self.home / "readings").glob("**/*.json")):
            found.update(json.loads(line) for line in path.read_text().splitlines())
        of_batch = Counter(row.rsplit(".", 2)[0] for row in found)
        assert set(of_batch.values()) <= {FILES * ROWS}, f"a part of a batch: {of_batch}"
        assert set(found.values()) <= {1}, f"a batch twice: {found}"
        return found

    def junk(self) -> list[str]:
        """Return what is beside the directory and is neither a token, a record nor kept."""
        home = self.home / ".readings.holdfast"
        found = [path.relative_to(home) for path in home.glob("*/*/*")]
        allowed = ("records", "kept")
        return [str(path) for path in found if path.parts[1] not in allowed]


class Driver:
    """One start of the stream."""

    def __init__(
        self, lake: Lake, *, epoch: int, before: Callable[[str], None] | None = None
    ) -> None:
        self.epoch = epoch
        self.nonce = f"n{epoch}"
        self.ledger = lake.ledger(before)
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
        schema = SimpleNamespace(fields=[])
        return self.writer.write(asked, stand_in(SimpleNamespace(files=files, schema=schema)))

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


def killing(step: int) -> Callable[[str], None]:
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


def pausing(step: int, meanwhile: Callable[[], None]) -> tuple[Callable[[str], None], list[str]]:
    """Return a hook that runs something before one step, and where it did."""
    numbers: Iterator[int] = iter(range(1_000_000))
    paused: list[str] = []

    def before(what: str) -> None:
        if next(numbers) == step:
            paused.append(what)
            meanwhile()

    return before, paused

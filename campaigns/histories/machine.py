"""Plays a history: every operation is carried out, accounted for, and held against the oracle."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from campaigns.histories.backend import Backend
from campaigns.histories.change import PENDING, Change
from campaigns.histories.describe import first_line, read_tree, rows_of, without_value
from campaigns.histories.driver import Driver, StreamCode, Written
from campaigns.histories.history import History
from campaigns.histories.memory_table import Row
from campaigns.histories.model import (
    Expected,
    SinkAccount,
    StreamAccount,
    TableAccount,
    Value,
    Wrong,
    compare,
)
from campaigns.histories.spark_logs import MicroBatch, SourceFile, SparkFailedError
from holdfast.apply.stores import Stores
from holdfast.errors import HoldfastError
from holdfast.ledger.decide import Apply, Decision
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from holdfast.streams.refusal import StartRefusedError

MAIN, OTHER, STRANGER = "a", "b", "x"
_EPOCH_S = 1_790_000_000


class FoundError(Exception):
    """The oracle does not accept what is there."""

    def __init__(self, wrong: list[Wrong], *, at: int) -> None:
        self.wrong = wrong
        self.at = at
        super().__init__(f"after operation {at}: " + "; ".join(map(str, wrong[:4])))


class Machine:
    """The world of one history, and the account of it."""

    def __init__(self, history: History, backend: Backend, home: Path) -> None:
        """Create the tables and the streams; nothing has run yet."""
        self.history = history
        self.backend = backend
        self.home = home
        self.at = -1
        self.lookup = 0
        self.tables: dict[str, TableAccount] = {}
        self.changes: list[Change] = []
        self.plan: tuple[Plan, Request, int] | None = None
        self.paused: tuple[Driver, Iterator[str]] | None = None
        self.copy: dict[str, bytes] | None = None
        self.fenced = False
        self.is_tampered = False
        """Whether something was done by hand since the last start: then a start may be refused."""
        self.refusal: HoldfastError | None = None
        """The newest refusal of a plan, a continuation or an undo."""
        self.told: list[str] = []
        """What happened, a line for each operation."""
        self._strangers = 0
        self._files = {MAIN: 0, OTHER: 0}
        backend.begin(home)
        sinks = [self._sink(number) for number in range(len(history.sinks))]
        self.main = StreamAccount(MAIN, f"{home}/r0", sinks)
        shared = sinks[0]
        like = SinkAccount(shared.table, shared.by_key, shared.sequenced, shared.keeps_versions)
        self.other = StreamAccount(OTHER, f"{home}/r0", [like])
        for name in (MAIN, OTHER):
            (home / f"in-{name}").mkdir(parents=True)

    def _sink(self, number: int) -> SinkAccount:
        shape = self.history.sinks[number]
        name = f"t{number}"
        self.add_table(name, by_key=shape.by_key, versions=shape.versions)
        return SinkAccount(name, shape.by_key, shape.sequenced, shape.versions)

    def add_table(self, name: str, *, by_key: bool, versions: bool) -> None:
        """Create a table, unless it is there."""
        if name not in self.tables:
            self.backend.create(name, by_key=by_key, versions=versions)
            self.tables[name] = TableAccount(name)

    def tell(self, what: str) -> None:
        """Note what happened."""
        self.told.append(f"{self.at}: {what}")

    def forget_refusal(self) -> None:
        """Forget what was refused before."""
        self.refusal = None

    def fail(self, *wrong: Wrong) -> None:
        """End the history: the oracle does not accept it."""
        raise FoundError(list(wrong), at=self.at)

    @property
    def pending(self) -> Change | None:
        """The newest plan that was begun and has not ended."""
        return next((each for each in reversed(self.changes) if each.state == PENDING), None)

    def check(self) -> None:
        """Hold every table against its account."""
        wrong = [
            each
            for account in self.tables.values()
            for each in compare(account, self.backend.rows(account.name))
        ]
        if wrong:
            self.fail(*wrong)

    def check_complete(self) -> None:
        """See that every file has reached every sink of a stream that has run to its end."""
        is_ending = self.pending is not None and self.pending.goal == "retire"
        for stream in (self.other,) if is_ending else (self.main, self.other):
            files = {f"{number:04d}.json" for number in range(self._files[stream.name])}
            for sink in stream.sinks if not stream.is_retired else ():
                missing = sorted(files - sink.counted)
                if missing:
                    said = f"{len(missing)} files never came to {sink.table}: {missing[0]}"
                    self.fail(Wrong("lost", said))

    def world(self) -> dict[str, Any]:
        """Return everything that a refusal must leave as it was."""
        found: dict[str, Any] = {}
        for root in ("r0", "r1"):
            read_tree(f"{self.home}/{root}", found)
        for name in self.tables:
            rows = [tuple(sorted(row.items())) for row in self.backend.rows(name)]
            found[name] = (sorted(rows), self.backend.ledger(name))
        return found

    def must_be(self, before: dict[str, Any], what: str) -> None:
        """Refuse a refusal that has changed something."""
        after = self.world()
        changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
        if changed:
            self.fail(Wrong("changed", f"{what}, and {sorted(changed)[:3]} changed"))

    def judge_refusal(self, stream: StreamAccount, error: HoldfastError) -> None:
        """Refuse a refusal after nothing but runs, and repairs that said they were done."""
        may_be_refused = stream is not self.main or self.is_tampered or self.pending is not None
        if not may_be_refused and isinstance(error, StartRefusedError):
            self.fail(Wrong("refused", f"Nothing speaks against it: {first_line(error)}"))

    def add_files(self, stream: str, count: int) -> None:
        """Give a stream new files to read."""
        for _ in range(count):
            number = self._files[stream]
            path = self.home / f"in-{stream}" / f"{number:04d}.json"
            rows = rows_of(stream, f"{number:04d}.json", "")
            path.write_text("".join(json.dumps(without_value(row)) + "\n" for row in rows))
            os.utime(path, (_EPOCH_S + number,) * 2)
            self._files[stream] += 1

    def driver(self, stream: StreamAccount) -> Driver:
        """Return a driver of a stream, as its code is now; tables that it names are there."""
        for each in stream.sinks:
            self.add_table(each.table, by_key=each.by_key, versions=each.keeps_versions)
        sinks = tuple(
            self.backend.sink(each.table, by_key=each.by_key, sequenced=each.sequenced)
            for each in stream.sinks
        )
        name = stream.name

        def rows(file: SourceFile) -> list[Row]:
            return rows_of(name, file.name, str(self.lookup))

        code = StreamCode(
            name=name,
            root=f"file:{stream.root}",
            source=self.home / f"in-{name}",
            sinks=sinks,
            rows_of=rows,
            is_repeatable=self.history.is_repeatable,
            files_per_batch=self.history.files_per_batch,
        )
        return Driver(code, written=self.written(name), planned=self.planned(name))

    @property
    def can_pause(self) -> bool:
        """Whether a driver can be paused within a batch."""
        return True

    def stores(self) -> Stores:
        """Return what a plan is applied with."""
        return Stores()

    def account(self, name: str) -> StreamAccount:
        """Return the account of a stream."""
        return self.main if name == MAIN else self.other

    def planned(self, name: str) -> Callable[[MicroBatch], None]:
        """Return what accounts for a batch that is planned."""

        def planned(batch: MicroBatch) -> None:
            files = tuple(each.name for each in batch.files)
            stream = self.account(name)
            stream.batches[batch.number] = files
            stream.attempt(files, str(self.lookup))

        return planned

    def written(self, name: str) -> Written:
        """Return what accounts for a sink that has answered."""

        def written(number: int, batch: MicroBatch, decision: Decision) -> None:
            stream = self.account(name)
            stream.moves += isinstance(decision, Apply)
            self.fenced = self.fenced or isinstance(decision, Apply)
            for file in (each.name for each in batch.files):
                self.deliver(stream, number, file, is_new=isinstance(decision, Apply))

        return written

    def deliver(self, stream: StreamAccount, number: int, file: str, *, is_new: bool) -> None:
        """Account for a file that a sink says it has."""
        sink = stream.sinks[number]
        if file in sink.counted:
            return  # if it was written again, the table shows it
        if not is_new:
            self.fail(Wrong("lost", f"{sink.table} skipped {file}, which it does not hold"))
        value = stream.values.setdefault(file, Value({str(self.lookup)}))
        rows = [
            Expected(row["id"], row["key"], row["seq"], value, stream.name, file)
            for row in rows_of(stream.name, file, "")
        ]
        account = self.tables[sink.table]
        account.add(rows, by_key=sink.by_key, sequenced=sink.sequenced)
        sink.counted.add(file)

    def run(
        self, stream: StreamAccount, *, kill: int | None = None, takeover: bool = False
    ) -> Exception | None:
        """Start a stream and let it run, or kill it at a point; return why it did not end.

        Raises:
            FoundError: The start was refused, and something changed.
        """
        driver = self.driver(stream)
        before = self.world()
        try:
            driver.start(takeover=takeover)
        except HoldfastError as error:
            self.tell(f"start of {stream.name} refused: {first_line(error)}")
            self.must_be(before, f"The start of {stream.name} was refused")
            self.judge_refusal(stream, error)
            return error
        self.has_started(stream)
        try:
            for number, point in enumerate(driver.run()):
                if number == kill:
                    self.tell(f"{stream.name} killed at {point}")
                    return None
        except (HoldfastError, SparkFailedError) as error:
            self.tell(f"{stream.name} failed: {first_line(error)}")
            return error
        finally:
            driver.close()
        return None

    def has_started(self, stream: StreamAccount) -> None:
        """Account for a start that was not refused."""
        for sink in stream.sinks:
            sink.started = sink.table
        if stream is self.main:
            self.is_tampered = False

    def checkpoint_of(self, stream: StreamAccount) -> Path:
        """Return where a stream's checkpoint is, by its newest generation."""
        root = Path(stream.root)
        opened = sorted((root / "_holdfast" / stream.name / "generations").glob("*.json"))
        if not opened:
            return root / stream.name
        found: str = json.loads(opened[-1].read_bytes())["checkpoint"]
        return Path(found.removeprefix("file:"))

    def stranger_row(self, table: str) -> Row:
        """Return a new row of somebody else."""
        self._strangers += 1
        name = f"{STRANGER}{self._strangers}"
        row: Row = {"id": name, "key": name, "seq": "0", "v": "s"}
        account = Expected(name, name, "0", Value({"s"}), STRANGER)
        self.tables[table].rows.append(account)
        return row

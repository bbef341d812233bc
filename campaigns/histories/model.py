"""What must be in every table: the oracle's own account, kept without asking Holdfast.

A stream reads files, each with its rows. For every sink the account says which files count in the
present generation; what each file's rows are follows from the file. Rows of other writers are kept
beside them. A repair changes the account by what it says that it does, and nothing else may change.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass
class Value:
    """The values that a row may have: one once it was seen, the same in every sink."""

    allowed: set[str]


@dataclass
class Expected:
    """A row that must be there."""

    id: str
    key: str
    seq: str
    value: Value
    writer: str
    file: str = ""
    stamp: int | None = None
    """What a trigger has set when the row was inserted; None until it was seen."""
    older: Expected | None = None
    """The row of the same key that it took the place of."""

    @property
    def order(self) -> tuple[str, str]:
        """Which of two rows with one key is newer."""
        return (self.seq, self.id)


def before_files(row: Expected, files: Collection[str]) -> Expected | None:
    """Return the row that was there before these files came; None if none was."""
    at: Expected | None = row
    while at is not None and at.file in files:
        at = at.older
    return at


def of_before(row: Expected, files: Collection[str]) -> Expected:
    """Return a row of an earlier generation, unless its file goes on to count."""
    older = None if row.older is None else of_before(row.older, files)
    return replace(row, file=row.file if row.file in files else "", older=older)


@dataclass
class TableAccount:
    """The rows that a table must hold."""

    name: str
    rows: list[Expected] = field(default_factory=list)

    def of(self, writer: str) -> list[Expected]:
        """Return the rows of one writer."""
        return [row for row in self.rows if row.writer == writer]

    def without(self, writer: str) -> list[Expected]:
        """Return the rows of all the others."""
        return [row for row in self.rows if row.writer != writer]

    def add(self, rows: Iterable[Expected], *, by_key: bool, sequenced: bool) -> None:
        """Account for rows that were appended or merged."""
        if not by_key:
            self.rows += rows
            return
        for row in rows:
            at = next((n for n, each in enumerate(self.rows) if each.key == row.key), None)
            if at is None:
                self.rows.append(row)
            elif not sequenced or row.order >= self.rows[at].order:
                there = self.rows[at]
                row.stamp, row.older = there.stamp, there
                if sequenced and row.order == there.order:
                    # The same row again: of two values the larger one stays.
                    row.value = Value(row.value.allowed | there.value.allowed)
                    row.older = there.older
                self.rows[at] = row


@dataclass
class SinkAccount:
    """What counts in one sink of a stream."""

    table: str
    by_key: bool = False
    sequenced: bool = False
    keeps_versions: bool = False
    counted: set[str] = field(default_factory=set)
    """The files whose rows it must hold in the present generation."""
    started: str = ""
    """The table that the last start wrote to: plans know that one, not what the code names now."""

    @property
    def known(self) -> str:
        """The table that a plan is about."""
        return self.started or self.table


@dataclass
class StreamAccount:
    """One stream."""

    name: str
    root: str
    sinks: list[SinkAccount]
    batches: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The files of each batch of the present generation."""
    values: dict[str, Value] = field(default_factory=dict)
    """Of each file that was delivered to a sink, or tried."""
    snapshots: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict)
    is_retired: bool = False
    moves: int = 0
    """Counts what changes the stream: a plan made before is stale."""

    def copied(self) -> StreamAccount:
        """Return an account of its own; values that were seen are the same."""
        return copy.deepcopy(self)

    def attempt(self, files: Iterable[str], value: str) -> None:
        """Account for an attempt to write files with the value that the query computes now."""
        given = list(files)
        if not all(file in sink.counted for sink in self.sinks for file in given):
            self.moves += 1  # else every sink has them, and nothing changes
        for file in given:
            if any(file in sink.counted for sink in self.sinks):
                continue  # one sink has it: the others must get the same
            self.values.setdefault(file, Value(set())).allowed.add(value)

    def until(self, batch: int) -> set[str]:
        """Return the files of all batches up to one."""
        return {file for number, files in self.batches.items() if number <= batch for file in files}

    def go_back(self, batch: int) -> set[str]:
        """Count only the files up to a batch; return those that count no more."""
        kept = self.until(batch)
        dropped = {file for sink in self.sinks for file in sink.counted - kept}
        self.batches = {n: files for n, files in self.batches.items() if n <= batch}
        for sink in self.sinks:
            sink.counted &= kept
        for file in dropped:
            self.values.pop(file, None)
        return dropped


@dataclass(frozen=True)
class Wrong:
    """Something that the oracle does not accept."""

    kind: str
    """`lost`, `duplicated`, `altered`, `unexpected`, `changed`, `locked-out`, `half-way`, ..."""
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


def compare(account: TableAccount, actual: list[dict[str, Any]]) -> list[Wrong]:
    """Compare a table with its account; values and stamps that are seen first are kept."""
    left: dict[str, list[dict[str, Any]]] = {}
    for each in actual:
        left.setdefault(each["id"], []).append(each)
    wrong: list[Wrong] = []
    waiting = sorted(account.rows, key=lambda row: row.stamp is None)
    for row in waiting:
        candidates = left.get(row.id, [])
        found = _match(row, candidates)
        if found is None:
            kind = "altered" if candidates else "lost"
            shown = f"{account.name}: row {row.id} of {row.writer}"
            if candidates:
                there = candidates.pop()
                shown += f" should be {sorted(row.value.allowed)} {row.stamp}, is {there}"
            wrong.append(Wrong(kind, shown))
            continue
        candidates.remove(found)
        row.value.allowed = {found["v"]}
        row.stamp = found.get("stamp")
    known = {row.id for row in account.rows}
    for row_id, rows in left.items():
        kind = "duplicated" if row_id in known else "unexpected"
        wrong += [Wrong(kind, f"{account.name}: row {row_id}")] * len(rows)
    return wrong


def _match(row: Expected, candidates: list[dict[str, Any]]) -> dict[str, Any] | None:
    for each in candidates:
        same_stamp = row.stamp is None or each.get("stamp") == row.stamp
        if each["v"] in row.value.allowed and same_stamp:
            return each
    return None


def stands_for(rows: Collection[Expected], actual: list[dict[str, Any]]) -> bool:
    """Return whether a table holds just these rows; nothing is kept of what is seen."""
    probe = TableAccount("", copy.deepcopy(list(rows)))
    return not compare(probe, actual)

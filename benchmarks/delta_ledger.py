"""The ledger's own part of a batch into Delta, on tables with short and long logs; no Spark.

A log is written as Delta writes it: a file per commit, and every ten commits a `_last_checkpoint`.
What is timed is what a batch reads: before it decides, and to see that its commit is there.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.attempts import NONCE, attempts, new_row
from benchmarks.guard_spans import CountingReader
from benchmarks.pairs import show_percentiles
from holdfast.ledger import Apply, Attempt, LedgerRow
from holdfast.ledger.decide import decide
from holdfast.ledger.row import advance
from holdfast.sinks.delta.commit_notes import encode_row
from holdfast.sinks.delta.log_ledger import (
    FIRST_BATCH_SLOT,
    DeltaLedger,
    app_id,
    transaction_version,
)
from holdfast.storage import open_reader

LENGTHS = (100, 1_000, 10_000)
BATCHES, WARM = 300, 30
OTHERS = (0, 10)
"""Commits of other writers between two batches."""
STARTS = 50
BACK = (0, 100, 1_000)
"""How many commits of others a start finds above the stream's own newest."""
MOST_MS = 50.0
CHECKPOINT_EVERY = 10
STREAM, SINK = "readings", "table"
APP = app_id(STREAM, SINK)
_STATS = json.dumps({"numRecords": 100, "minValues": {"id": 0}, "maxValues": {"id": 99}})


class Table:
    """The log of a table that one stream and others write to."""

    def __init__(self, home: Path, *, commits: int) -> None:
        """Write a log of so many commits; the newest is the stream's own."""
        self._log = home / "_delta_log"
        self._log.mkdir(parents=True)
        self._next = 0
        self.row = replace(new_row(STREAM, SINK), epoch=1, nonce=NONCE)
        self.requests: Counter[str] = Counter()
        self.reader: Any = CountingReader(open_reader(str(home)), self.requests)
        self.following: Iterator[Attempt] = attempts(self.row)
        self.ledger = DeltaLedger(self.reader, APP)
        self.commit_others(commits - 1)
        self._commit(1, encode_row(self.row))

    def commit_others(self, count: int) -> None:
        """Commit as somebody else."""
        for _ in range(count):
            self._commit(None, "")

    def commit_batch(self, attempt: Attempt, row: LedgerRow) -> None:
        """Commit as the stream does."""
        slot = FIRST_BATCH_SLOT + attempt.batch_id
        self._commit(transaction_version(attempt.generation, attempt.epoch, slot), encode_row(row))

    def _commit(self, version: int | None, note: str) -> None:
        actions: list[dict[str, Any]] = [
            {"commitInfo": {"operation": "WRITE", "operationParameters": {"mode": "Append"}}},
            {"add": {"path": f"part-{self._next:05}.snappy.parquet", "stats": _STATS}},
        ]
        if version is not None:
            actions[0]["commitInfo"]["userMetadata"] = note
            actions.insert(1, {"txn": {"appId": APP, "version": version}})
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (self._log / f"{self._next:020}.json").write_text(text)
        if self._next and self._next % CHECKPOINT_EVERY == 0:
            pointer = {"version": self._next, "size": self._next}
            (self._log / "_last_checkpoint").write_text(json.dumps(pointer))
        self._next += 1


def run_batch(table: Table, *, others: int) -> float:
    """Do the ledger's part of a batch and return what it took, in ms; commits are not timed."""
    table.commit_others(others)
    attempt = next(table.following)
    began = time.perf_counter()
    standing = table.ledger.read()
    assert standing is not None
    assert standing.row is not None
    assert decide(standing.row, attempt) == Apply()
    advanced = advance(standing.row, attempt)
    spent = time.perf_counter() - began
    table.commit_batch(attempt, advanced)
    began = time.perf_counter()
    after = table.ledger.read()
    spent += time.perf_counter() - began
    assert after is not None
    assert after.row == advanced
    return spent * 1e3


def report(home: Path) -> list[str]:
    """Measure batches and starts on all lengths in turns; return the floor if it was missed."""
    tables = {length: Table(home / str(length), commits=length) for length in LENGTHS}
    missed = []
    for others in OTHERS:
        missed += report_batches(tables, others=others)
    report_starts(tables[LENGTHS[-1]])
    return missed


def report_batches(tables: dict[int, Table], *, others: int) -> list[str]:
    """Measure batches with so many commits of others between them."""
    print(f"The ledger's part of {BATCHES} batches, {others} commits of others before each")
    found: dict[int, list[float]] = {length: [] for length in tables}
    for table in tables.values():
        table.requests.clear()
    for _ in range(WARM + BATCHES):
        for length, table in tables.items():
            found[length].append(run_batch(table, others=others))
    missed = []
    for length in tables:
        times = found[length][WARM:]
        show_percentiles(f"{length:,} commits", times)
        if (high := statistics.quantiles(times, n=20)[-1]) > MOST_MS:
            missed.append(f"the ledger takes {high:.1f} ms at {length:,} commits (p95)")
    asked = tables[LENGTHS[-1]].requests.items()
    each = ", ".join(f"{count / (WARM + BATCHES):.1f} {what}" for what, count in asked)
    print(f"    requests per batch: {each}")
    shortest, *_, longest = (statistics.median(found[length][WARM:]) for length in tables)
    print(f"    the longest log over the shortest: {longest / shortest:.2f} times (p50)")
    return missed


def report_starts(table: Table) -> None:
    """Measure the first read of a start, which walks back to the stream's newest row."""
    print(f"The first read of a start on the longest log, {STARTS} of each")
    behind = 0
    for back in BACK:
        table.commit_others(back - behind)
        behind = back
        times = []
        for _ in range(STARTS):
            began = time.perf_counter()
            standing = DeltaLedger(table.reader, APP).read()
            times.append((time.perf_counter() - began) * 1e3)
            assert standing is not None
            assert standing.row is not None
        show_percentiles(f"{back:,} commits of others above it", times)

"""Where a micro-batch is killed, by name.

A phase is one or more kills in a row: in the first batch, in a later one, or in the replay of a
batch that was killed before. Each run recovers the last kill and dies at the next.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.drills.kill.points import Delete, Named, Point, Rename, parse_point

EVERY = "every"
"""The phase that is all of a stream's in one chain."""


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of a run."""

    name: str
    display_name: str
    """When it kills, in words: the driver is killed when …"""
    kills: tuple[Point, ...]


def _phase(name: str, shown: str, *kills: Point) -> Phase:
    return Phase(name=name, display_name=shown, kills=kills)


def _step(name: str, shown: str, *, at: str) -> Phase:
    """A step of our own, in the first batch and two later."""
    return _phase(name, shown, Named(at), Named(at, 3))


def _before(name: str, shown: str, *, path: str) -> Phase:
    """Before an entry of the checkpoint appears, that of the first batch and of another."""
    return _phase(name, shown, Rename("before", f"{path}/0"), Rename("before", f"{path}/3"))


def _after(name: str, shown: str, *, path: str) -> Phase:
    """The entry is there, and what follows it not."""
    return _phase(name, shown, Rename("after", f"{path}/0"), Rename("after", f"{path}/3"))


STARTING = (
    _phase("start-leased", "the driver holds the lease", Named("G2"), Named("G2")),
    _phase(
        "start-fenced", "the sinks are fenced, the query is not started", Named("G5"), Named("G5")
    ),
)
"""Of a guarded stream."""
CHECKPOINT = (
    _before("source-log-before", "sources/0/N is not written yet", path="sources/0"),
    _after("source-log-after", "sources/0/N is written, offsets/N is not", path="sources/0"),
    _before("offsets-before", "offsets/N is not written yet", path="offsets"),
    _after("offsets-after", "offsets/N is written, the sink is not called", path="offsets"),
    _before(
        "commits-before", "the sink has written the batch, commits/N is not written", path="commits"
    ),
    _after("commits-after", "commits/N is written", path="commits"),
    _phase(
        "replay",
        "commits/N is not written yet, twice in the same batch",
        Rename("before", "commits/1"),
        Rename("before", "commits/1"),
    ),
)
"""Of any stream whose checkpoint is on local disk and whose source is files."""
SINK = (
    _step("batch-begun", "the batch begins", at="S1"),
    _step("sink-decided", "the sink has read its ledger", at="S3"),
    _step("sink-committed", "the sink has committed, Spark does not know it", at="S6"),
    _step("sink-returned", "the sink has returned", at="S7"),
)
"""Of any guarded sink."""
TRANSACTION = (
    _step("sink-data-some", "some of the rows are sent", at="copying"),
    _step("sink-data-sent", "all rows are sent, the ledger is not", at="S4"),
    _step("ledger-written", "rows and ledger are sent, not committed", at="S5"),
)
"""Of a database, whose transaction has the rows before the commit."""
TABLE_LOG = (
    _phase(
        "log-before",
        "the commit is not in the table's log yet",
        Rename("before", f"{3:020}.json"),
        Rename("before", f"{7:020}.json"),
    ),
    _phase(
        "log-after",
        "the commit is in the table's log, Spark does not know it",
        Rename("after", f"{3:020}.json"),
        Rename("after", f"{7:020}.json"),
    ),
)
"""Of a Delta table: 0 makes it, 1 fences, 2 is the ledger's row, then the batches."""
ENDING = (
    _phase(
        "ending", "all data is written, the lease is not released", Named("run-ended"), Named("G8")
    ),
)
"""Of a guarded stream that runs until all is read."""

PHASES = (*STARTING, *CHECKPOINT, *SINK, *TRANSACTION, *TABLE_LOG, *ENDING)
"""Those that any stream can reach, in the order of a run."""

STATE = (
    _phase(
        "state-before",
        "no state store of the batch is written",
        Rename("before", ".zip"),
        Rename("before", ".zip", 3),
    ),
    _phase(
        "state-some",
        "one state store is written, the others are not",
        Rename("after", ".zip"),
        Rename("after", ".zip", 3),
    ),
)
"""Of a query with state in RocksDB, which writes a snapshot as one zip."""
TWO_SINKS = (
    _step("between-sinks", "one sink has the batch, the other does not", at="sink-written"),
)
"""Of a stream into two sinks: its first, and that of the next batch."""
WRITTEN_DOWN = (
    _step("written-down", "the batch is materialised, no sink has it", at="journalled"),
)
"""Of a stream into several sinks whose plan may not give the same rows twice."""
UPKEEP = (
    _phase(
        "source-log-compacted",
        "sources/0/N.compact replaces earlier entries",
        Rename("before", "sources/0/2.compact"),
        Rename("after", "sources/0/5.compact"),
    ),
    _phase(
        "entries-purged",
        "old entries are being deleted",
        Delete("before", "offsets/1"),
        Delete("after", "commits/3"),
    ),
)
"""Of a stream that compacts every third entry and keeps two batches, as the built-in ones do."""
ALL = (*PHASES, *STATE, *TWO_SINKS, *WRITTEN_DOWN, *UPKEEP)

_STATE: tuple[Point, ...] = (Rename("before", ".zip"), Rename("after", ".zip"))


def asked_phase(points: Sequence[str]) -> Phase:
    """Return the phase whose kills are these points, as a user writes them.

    Raises:
        ConfigError: One is not written as a point is.
    """
    return _phase("kill-at", ", ".join(points), *map(parse_point, points))


def every_phase(writes: Sequence[Sequence[Point]], *, has_state: bool) -> Phase:
    """Return all phases of a stream as one chain, in the order of a run.

    n kills take n + 1 drivers, and nearly all of them strike in the recovery of the one before.

    Args:
        writes: The points inside the write of each of its sinks.
        has_state: Whether its query writes state.
    """
    state = _STATE if has_state else ()
    # A batch that is written down is not computed again until its sinks have it.
    computed = [*state, *([Named("journalled")] if has_state and len(writes) > 1 else [])]
    inside = [*computed, Named("S3"), *(point for write in writes for point in write)]
    # A source's log goes on when its batch does not: two kills of each batch put it ahead by one.
    kills = [
        *_batch(0, log=0, inside=inside),
        *state[:1],  # of batch 1, which is in the sink and is skipped
        Rename("before", "commits/1"),
        Rename("before", "commits/1"),
        *_batch(4, log=6, inside=inside),
        Rename("before", "sources/0/11.compact"),
        Rename("after", "sources/0/11.compact"),
        Delete("before", "offsets/4"),
        Delete("after", "commits/4"),
        *ENDING[0].kills,
    ]
    return _phase(EVERY, f"all phases in one chain of {len(kills)} kills", *kills)


def _batch(number: int, *, log: int, inside: Sequence[Point]) -> list[Point]:
    """Return the points of one batch, which every run begins again, and the commit of the next."""
    return [
        Named("G2"),
        Named("G5"),
        Rename("before", f"sources/0/{log}"),
        Rename("after", f"sources/0/{log}"),
        Rename("before", f"offsets/{number}"),
        Rename("after", f"offsets/{number}"),
        Named("S1"),
        *inside,
        Named("S7"),
        Rename("before", f"commits/{number}"),
        Rename("after", f"commits/{number}"),
        Named("S6"),
    ]

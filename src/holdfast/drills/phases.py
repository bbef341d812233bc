"""Where a micro-batch is killed, by names that people can say.

A phase is one or more kills in a row: in the first batch, in a later one, or in the replay of a
batch that was killed before. Each run recovers the last kill and dies at the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.drills.kill.points import Named, Point, Rename


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A moment in the life of a stream."""

    name: str
    shown: str
    """As a table has it."""
    kills: tuple[Point, ...]


def _entry(name: str, shown: str, *, kills: tuple[Point, ...]) -> Phase:
    return Phase(name=name, shown=shown, kills=kills)


STARTING = (
    _entry("start-leased", "the lease is taken", kills=(Named("G2"), Named("G2"))),
    _entry("start-fenced", "the sinks are fenced", kills=(Named("G5"), Named("G5"))),
)
"""Of a guarded stream."""
CHECKPOINT = (
    _entry(
        "source-log-before",
        "before sources/0/N appears",
        kills=(Rename("before", "sources/0/0"), Rename("before", "sources/0/3")),
    ),
    _entry(
        "source-log-after",
        "sources/0/N is there, offsets/N not",
        kills=(Rename("after", "sources/0/0"), Rename("after", "sources/0/3")),
    ),
    _entry(
        "offsets-before",
        "before offsets/N appears",
        kills=(Rename("before", "offsets/0"), Rename("before", "offsets/3")),
    ),
    _entry(
        "offsets-after",
        "offsets/N is there, the sink not called",
        kills=(Rename("after", "offsets/0"), Rename("after", "offsets/3")),
    ),
    _entry(
        "commits-before",
        "the sink has returned, commits/N not there",
        kills=(Rename("before", "commits/0"), Rename("before", "commits/3")),
    ),
    _entry(
        "commits-after",
        "commits/N is there",
        kills=(Rename("after", "commits/0"), Rename("after", "commits/3")),
    ),
    _entry(
        "replay",
        "twice in the same batch, before commits/N",
        kills=(Rename("before", "commits/1"), Rename("before", "commits/1")),
    ),
)
"""Of any stream whose checkpoint is on local disk and whose source is files."""
SINK = (
    _entry("batch-begun", "the batch begins", kills=(Named("S1"), Named("S1", 3))),
    _entry("sink-decided", "the ledger is read", kills=(Named("S3"), Named("S3", 3))),
    _entry("sink-committed", "committed, nobody was told", kills=(Named("S6"), Named("S6", 3))),
    _entry("sink-returned", "back from the sink", kills=(Named("S7"), Named("S7", 3))),
)
"""Of any guarded sink."""
TRANSACTION = (
    _entry("sink-data-sent", "the rows are sent", kills=(Named("S4"), Named("S4", 3))),
    _entry("ledger-written", "rows and ledger, not committed", kills=(Named("S5"), Named("S5", 3))),
)
"""Of a database, whose transaction has the rows before the commit."""
TABLE_LOG = (
    _entry(
        "log-before",
        "before the commit appears in the log",
        kills=(Rename("before", f"{3:020}.json"), Rename("before", f"{7:020}.json")),
    ),
    _entry(
        "log-after",
        "the commit is in the log, nobody was told",
        kills=(Rename("after", f"{3:020}.json"), Rename("after", f"{7:020}.json")),
    ),
)
"""Of a Delta table: 0 makes it, 1 fences, 2 is the ledger's row, then the batches."""


PHASES = (*STARTING, *CHECKPOINT, *SINK, *TRANSACTION, *TABLE_LOG)
"""All but those of state, in the order of a life."""
STATE = (
    _entry(
        "state-before",
        "before the first state store is written",
        kills=(Rename("before", ".zip"), Rename("before", ".zip", 3)),
    ),
    _entry(
        "state-some",
        "one state store is written, the others not",
        kills=(Rename("after", ".zip"), Rename("after", ".zip", 3)),
    ),
)
"""Of a query with state in RocksDB, which writes a snapshot as one zip."""

"""A sink that writes into tables in memory, with its ledger; the shipped protocol decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from campaigns.histories.memory_ledger import MemoryLedger, mark_of
from campaigns.histories.memory_table import TABLES, Table
from holdfast.ledger.decide import Apply, Decision, decide
from holdfast.ledger.row import Attempt, advance
from holdfast.record.contracts import SinkContract
from holdfast.sinks.sink import BeforeCommit, SinkSpec, SinkWriter


@dataclass(frozen=True)
class MemorySink(SinkSpec):
    """A table in memory, as a user writes it."""

    kind: ClassVar[str] = "histories-memory"

    path: str
    keys: tuple[str, ...] = ()
    sequence_by: str | None = None

    @property
    def label(self) -> str:
        """The table's name."""
        return self.path.rpartition("/")[2]

    @property
    def display_name(self) -> str:
        """As people know it."""
        return f"the table {self.label}"

    @property
    def place(self) -> str:
        """Where it is."""
        return self.path

    @classmethod
    def from_contract(cls, contract: SinkContract) -> MemorySink:
        """Return the sink that a contract tells of."""
        return cls(contract.place, keys=contract.keys, sequence_by=contract.sequence_by)

    def resolve_writer(self, df: Any, *, stream: str) -> MemoryWriter:
        """Return the writer of one start."""
        del df
        return MemoryWriter(self, stream)

    def open_ledger(
        self, spark: Any = None, *, options: Mapping[str, str] | None = None
    ) -> MemoryLedger:
        """Open the ledger of a table."""
        del spark, options
        return MemoryLedger(self)


class MemoryWriter(SinkWriter):
    """Writes the batches of one start into a table in memory."""

    _sink: MemorySink

    def __init__(self, sink: MemorySink, stream: str) -> None:
        """Write nothing yet."""
        super().__init__(sink)
        self._stream = stream
        self._ledger = MemoryLedger(sink)

    @property
    def identity(self) -> str:
        """Where it is."""
        return self._sink.path

    @property
    def ledger(self) -> MemoryLedger:
        """Its ledger."""
        return self._ledger

    def create(self) -> None:
        """Create the table."""
        TABLES.setdefault(self._sink.path, Table(self._sink.path))

    def write(
        self, attempt: Attempt, batch: Any, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and write it when it is to be applied."""
        table = TABLES[self._sink.path]
        held = table.ledger.get(attempt.stream)
        decision = decide(None if held is None else held.row, attempt)
        if not isinstance(decision, Apply):
            return decision
        assert held is not None
        mark = mark_of(attempt.stream, attempt.generation)
        if self._sink.keys:
            sequenced = self._sink.sequence_by is not None
            added = table.merge(batch.rows, sequenced=sequenced, mark=mark)
        else:
            table.insert(batch.rows, mark=mark)
            added = len(batch.rows)
        before_commit(len(batch.rows))
        held.row = advance(held.row, attempt)
        held.brought += added
        return decision

    def close(self) -> None:
        """Nothing is open."""

"""Sinks that take a batch in parts: tasks stage their rows, and one step commits all of them.

A kind of sink can if it has a module `parts_writer` with `open_parts` and `reopen_parts`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from holdfast.errors import ConfigError
from holdfast.sinks.sink import SinkWriter

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.ledger.decide import Decision
    from holdfast.ledger.row import Attempt
    from holdfast.ledger.store import LedgerStore
    from holdfast.sinks.sink import BeforeCommit, SinkSpec


class StagedPart(Protocol):
    """What one task has made of its rows."""

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def table(self) -> str:
        """Where they are staged; empty when the part has them itself."""


class TaskStage(Protocol):
    """What the tasks of one start stage their rows with; it is sent to executors."""

    def write(
        self, batches: Iterable[pa.RecordBatch], *, batch: int, partition: int, attempt: int
    ) -> StagedPart:
        """Stage the rows of one attempt of a task."""


class PartsWriter(SinkWriter, abstract=True):
    """The writer of one start, whose tasks bring the rows in parts."""

    @property
    @abstractmethod
    def ledger(self) -> LedgerStore:
        """The sink's ledger."""

    @abstractmethod
    def stage(self, stream: str, *, epoch: int) -> TaskStage:
        """Return what the tasks of one start stage their rows with."""

    @abstractmethod
    def write_parts(
        self, attempt: Attempt, parts: Sequence[StagedPart], *, before_commit: BeforeCommit
    ) -> Decision:
        """Decide about a batch, and write its parts when it is to be applied (S2 to S6)."""

    @abstractmethod
    def drop_stages(self, names: Iterable[str]) -> None:
        """Drop what tasks have staged, by the names that their parts have."""

    @abstractmethod
    def drop_dead(self, stream: str, *, epoch: int, batch: int = -1) -> None:
        """Drop what is staged and cannot be committed: of older epochs, and up to this batch."""


def refuse_other_kinds(sink: SinkSpec) -> None:
    """Refuse a sink whose rows cannot come in parts.

    Raises:
        ConfigError: It is one.
    """
    if not sink.package or find_spec(f"{sink.package}.parts_writer") is None:
        raise ConfigError(
            f'format("holdfast") writes into tables of PostgreSQL only; for {sink.display_name} '
            "use hf.start."
        )


def open_parts(
    sink: SinkSpec, schema: pa.Schema, stream: str
) -> AbstractContextManager[PartsWriter]:
    """Open a sink for batches of a schema; nothing is created.

    Raises:
        HoldfastError: On entering, when the sink does not take the rows, or cannot be reached.
    """
    refuse_other_kinds(sink)
    opened: AbstractContextManager[PartsWriter] = _module(sink).open_parts(sink, schema, stream)
    return opened


def reopen_parts(sink: SinkSpec, stage: TaskStage) -> AbstractContextManager[PartsWriter]:
    """Open a sink for a batch that tasks have staged."""
    opened: AbstractContextManager[PartsWriter] = _module(sink).reopen_parts(sink, stage)
    return opened


def _module(sink: SinkSpec) -> ModuleType:
    return import_module(f"{sink.package}.parts_writer")

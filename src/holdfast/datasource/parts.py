"""Which kinds of sinks take a batch in parts: those with a module `parts_writer`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from holdfast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from holdfast.ledger.decide import Decision
    from holdfast.ledger.row import Attempt
    from holdfast.sinks.sink import SinkSpec


class PartsWriter(Protocol):
    """What a `SinkWriter` has besides, where tasks bring the rows in parts."""

    def stage(self, stream: str, *, epoch: int) -> Any:
        """Return what the tasks of one start stage their rows with; it is sent to executors."""

    def write(self, attempt: Attempt, batch: Any) -> Decision:
        """Decide about a batch, and write its parts when it is to be applied (S2 to S6)."""

    def drop_stages(self, names: Iterable[str]) -> None:
        """Drop what tasks have staged, by the names that their parts have."""

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


def open_parts(sink: SinkSpec, schema: pa.Schema, stream: str) -> AbstractContextManager[Any]:
    """Open a sink for batches of a schema; nothing is created.

    Raises:
        HoldfastError: On entering, when the sink does not take the rows, or cannot be reached.
    """
    refuse_other_kinds(sink)
    opened: AbstractContextManager[Any] = _module(sink).open_parts(sink, schema, stream)
    return opened


def reopen_parts(sink: SinkSpec, stage: Any) -> AbstractContextManager[Any]:
    """Open a sink for a batch that tasks have staged."""
    opened: AbstractContextManager[Any] = _module(sink).reopen_parts(sink, stage)
    return opened


def _module(sink: SinkSpec) -> Any:
    return import_module(f"{sink.package}.parts_writer")

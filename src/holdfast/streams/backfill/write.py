"""Writes one chunk of a backfill into every sink, through the writers of the stream's sinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.batches import SinkWritten, fields_of
from holdfast.events.repairs import ChunkBegun, ChunkWritten
from holdfast.ids import BatchId
from holdfast.ledger.decide import Refuse
from holdfast.ledger.row import Attempt, Binding
from holdfast.record.generations import newest_generation
from holdfast.record.leases import Lease
from holdfast.record.repairs import unfinished_repair
from holdfast.streams.backfill.positions import digest_of, encode_position
from holdfast.streams.backfill.prepare import Prepared
from holdfast.streams.batch_form import NoBatchForm
from holdfast.streams.fan_out import BatchSpool

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ChunkRefusedError(HoldfastError):
    """A chunk was not written, or not into every sink."""

    code = "CHUNK_REFUSED"

    def __init__(self, name: str, *, why: str) -> None:
        super().__init__(
            what=f"A chunk of {name} was not written.",
            why=why,
            how="Run the backfill again.",
        )


class ChunkWriter(msgspec.Struct, frozen=True, kw_only=True):
    """Writes the chunks of one run."""

    prepared: Prepared
    lease: Lease
    check: Callable[[], None]
    """Raises if the lease is lost."""
    binding: Binding
    spool: BatchSpool

    def write(self, number: int) -> None:
        """Write one chunk into every sink.

        Raises:
            ChunkRefusedError: It cannot be read, or a sink refuses it.
        """
        chunks = self.prepared.chunks
        start, end = chunks.at(number), chunks.at(number + 1)
        form = self.prepared.reader.read(start, end)
        if isinstance(form, NoBatchForm):
            why = f"It cannot be read as a batch: {form.reason}."
            raise ChunkRefusedError(self.prepared.name, why=why)
        attempts = self._attempts(number, encode_position(start), encode_position(end))
        at = (self.prepared.name, number + 1, chunks.count)
        emit(ChunkBegun(*at))
        if len(attempts) == 1:
            self._give(form.df, attempts)
        else:
            with self.spool.rows(form.df, attempts[0]) as rows:
                self._give(rows.frame, attempts)
        emit(ChunkWritten(*at))

    def _attempts(self, number: int, start: str, end: str) -> list[Attempt]:
        first = Attempt(
            stream=self.prepared.name,
            sink="",
            generation=1,
            epoch=self.lease.epoch,
            nonce=self.lease.token,
            binding=self.binding,
            batch_id=BatchId(number),
            digest=digest_of(self.prepared.name, start, end),
            start_offsets=start,
            end_offsets=end,
        )
        return [replace(first, sink=sink.name) for sink in self.prepared.sinks]

    def _give(self, rows: DataFrame, attempts: list[Attempt]) -> None:
        for sink, attempt in zip(self.prepared.sinks, attempts, strict=True):
            decision = sink.write(attempt, rows, before_commit=self._check_stream)
            if isinstance(decision, Refuse):
                why = f"{sink.display_name}: {decision.reason.value}."
                raise ChunkRefusedError(self.prepared.name, why=why)
            emit(SinkWritten(**fields_of(attempt)))

    def _check_stream(self, _: int) -> None:
        """Refuse to commit once another run, or a repair of the stream, has taken over."""
        self.check()
        place = self.prepared.known.place
        why = None
        if unfinished_repair(place.record) is not None:
            why = "A plan is being applied to the stream."
        elif newest_generation(place.record) != self.prepared.kept.generation:
            why = "The stream has a new generation: its sinks may have been emptied or restored."
        if why is not None:
            raise ChunkRefusedError(self.prepared.name, why=why)

"""Carries a backfill out with its lease: fenced, then run chunk by chunk.

Each chunk is one batch of a stream of its own in the ledger. So a chunk is written exactly once
whatever is killed, and the ledger says where to go on.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import msgspec

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.ids import QueryId
from holdfast.ledger.row import NO_BATCH, Binding, LedgerRow
from holdfast.record.backfills import read_backfill
from holdfast.record.contracts import keep_contract
from holdfast.record.documents import create
from holdfast.record.generations import OPENED, Generation, current_generation, open_generation
from holdfast.record.leases import Lease
from holdfast.record.runs import FAILED, FINISHED, Run, write_run
from holdfast.sinks.sink import SinkWriter
from holdfast.spark.errors import first_line, spark_errors
from holdfast.spark.port import port_of
from holdfast.spark_versions import version_text
from holdfast.streams.backfill.errors import BackfillRefusedError, BackfillStoppedError
from holdfast.streams.backfill.known import read_row
from holdfast.streams.backfill.positions import encode_position
from holdfast.streams.backfill.prepare import BackfillProgress, Prepared
from holdfast.streams.backfill.write import ChunkWriter
from holdfast.streams.fan_out import BatchSpool
from holdfast.streams.refusal import FenceNotTakenError
from holdfast.streams.resolve import check_session

Tell = Callable[[BackfillProgress], None]


def open_job(prepared: Prepared, lease: Lease, check: Callable[[], None]) -> BackfillJob:
    """Create what is missing in the record and in the sinks; with the lease in hand.

    Args:
        prepared: The backfill.
        lease: Of its record.
        check: Called last before each commit; raises if the lease is lost.

    Raises:
        BackfillRefusedError: Another run has begun it with another range meanwhile.
    """
    record, known = prepared.record, prepared.known
    if read_backfill(record) is None:
        create(record, prepared.kept)
    kept, mine = read_backfill(record), prepared.kept
    if kept is None or (kept.start, kept.end, kept.chunks) != (mine.start, mine.end, mine.chunks):
        why = "Another run has begun it meanwhile, with another range."
        raise BackfillRefusedError(known.name, why=why, how="Run it again.")
    generation = current_generation(record)
    if generation is None:
        generation = Generation(
            number=1,
            checkpoint=str(record.location),
            query_id=str(uuid.uuid4()),
            first_batch=0,
            why=OPENED,
            opened_at=clock.now().isoformat(timespec="seconds"),
        )
        open_generation(record, generation)
    for sink in prepared.sinks:
        sink.look_again()
        sink.create()
    binding = Binding(query_id=QueryId(generation.query_id), checkpoint=str(record.location))
    return BackfillJob(prepared=prepared, lease=lease, check=check, binding=binding)


class BackfillJob(msgspec.Struct, frozen=True, kw_only=True):
    """A backfill that has its lease."""

    prepared: Prepared
    lease: Lease
    check: Callable[[], None]
    binding: Binding

    @property
    def name(self) -> str:
        """Of the backfill in the ledger."""
        return self.prepared.name

    def fence(self) -> int:
        """Let only this run write; return the first chunk that a sink lacks.

        Raises:
            BackfillRefusedError: A sink holds something else under this name.
            FenceNotTakenError: A later run has fenced a sink.
        """
        lease, rows = self.lease, []
        for sink in self.prepared.sinks:
            ledger = sink.ledger
            assert ledger is not None
            row = read_row(ledger, self.name)
            if row is not None:
                self._check(sink, row, ledger.examine(row))
                # What an older run wrote until now counts.
                fenced = ledger.fence(row, epoch=lease.epoch, nonce=lease.token)
            else:
                first = self._first_row(sink)
                fenced = first if ledger.replace(None, first) else None
            if fenced is None:
                raise FenceNotTakenError(self.name, sink.display_name)
            rows.append(fenced)
        return min(row.last_batch for row in rows) + 1

    def _first_row(self, sink: SinkWriter) -> LedgerRow:
        return LedgerRow(
            stream=self.name,
            sink=sink.name,
            generation=1,
            epoch=self.lease.epoch,
            nonce=self.lease.token,
            binding=self.binding,
            last_batch=NO_BATCH,
            digest=None,
            end_offsets=encode_position(self.prepared.chunks.start),
        )

    def _check(self, sink: SinkWriter, row: LedgerRow, changed: str | None) -> None:
        if row.binding != self.binding:
            changed = "its ledger has a backfill of this name whose record is gone"
        if changed is not None:
            why = f"{sink.display_name} does not hold what an earlier run wrote into it: {changed}."
            how = "Find out what the table holds before you backfill it again."
            raise BackfillRefusedError(self.prepared.known.name, why=why, how=how)

    def run(self, first: int, tell_progress: Tell) -> BackfillProgress:
        """Write the chunks that are missing, one after the other.

        Raises:
            BackfillStoppedError: One could not be written.
        """
        prepared = self.prepared
        run = self._begin(first)
        writer = self._writer(first)
        errors: tuple[type[Exception], ...] = (HoldfastError, *spark_errors())
        told, began = prepared.progress(first, seconds=0.0), clock.monotonic()
        tell_progress(told)
        for number in range(first, prepared.chunks.count):
            try:
                writer.write(number)
            except errors as error:
                self._end(run, number, error)
                raise BackfillStoppedError(
                    prepared.known.name,
                    done=number,
                    chunks=prepared.chunks.count,
                    why=_why(error),
                ) from error
            seconds = (clock.monotonic() - began) / (number + 1 - first)
            told = prepared.progress(number + 1, seconds=seconds)
            tell_progress(told)
        self._end(run, prepared.chunks.count)
        return told

    def _begin(self, first: int) -> Run:
        """Write the contract and the run down, as a started stream does."""
        known, record = self.prepared.known, self.prepared.record
        contract, _ = port_of(known.spark).describe_query(
            known.df,
            sinks=tuple(sink.name for sink in self.prepared.sinks),
            output_mode=known.declared.options["outputMode"],
            sink_places=tuple(sink.describe() for sink in self.prepared.sinks),
        )
        keep_contract(record, contract)
        run = Run(
            epoch=self.lease.epoch,
            run_id=str(uuid.uuid4()),
            generation=1,
            contract=contract.digest,
            spark=version_text(check_session(known.spark)),
            started_at=clock.now().isoformat(timespec="seconds"),
            first_batch=first,
        )
        write_run(record, run)
        return run

    def _end(self, run: Run, done: int, error: Exception | None = None) -> None:
        ended = msgspec.structs.replace(
            run,
            last_batch=done - 1 if done else None,
            ended=FINISHED if error is None else FAILED,
            ended_at=clock.now().isoformat(timespec="seconds"),
            error="" if error is None else type(error).__name__,
        )
        try:
            write_run(self.prepared.record, ended)
        except HoldfastError as failed:
            emit(Warned(f"the run could not be written down: {failed.why}"))

    def _writer(self, first: int) -> ChunkWriter:
        prepared = self.prepared
        spool = BatchSpool(
            record=prepared.record,
            is_needed=len(prepared.sinks) > 1
            and not port_of(prepared.known.spark).is_repeatable(prepared.known.df),
            first_batch=first,
        )
        return ChunkWriter(
            prepared=prepared,
            lease=self.lease,
            check=self.check,
            binding=self.binding,
            spool=spool,
        )


def _why(error: Exception) -> str:
    said = f"{error.what} {error.why}" if isinstance(error, HoldfastError) else first_line(error)
    return said or type(error).__name__

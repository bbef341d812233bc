"""A driver of one stream without Spark: the guard as it is shipped, and the small engine behind it.

`Driver.start` goes from the lease to the fence (G1 to G5) by the code of `hf.start`. `Driver.run`
is a generator: it stops at every point at which a driver can be killed, so that a caller kills it
by not going on, and pauses it by going on later.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from campaigns.histories.frames import Frame
from campaigns.histories.memory_table import Row
from campaigns.histories.spark_logs import FileSourceQuery, MicroBatch, SourceFile
from holdfast import clock
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.stream import StreamEvidence
from holdfast.ids import BatchId
from holdfast.ledger.coverage import Coverage, canonical_offset, read_coverage, same_offsets
from holdfast.ledger.decide import Decision, Refuse
from holdfast.ledger.row import Attempt
from holdfast.record.contracts import Contract, contract_before
from holdfast.record.documents import replace as put_document
from holdfast.record.input_files import InputFile, keep_input_files
from holdfast.record.leases import Lease, release, take_lease
from holdfast.record.owner import this_process
from holdfast.record.runs import Run
from holdfast.sinks.sink import SinkSpec, SinkWriter
from holdfast.streams.accepting import accepted_by_operator
from holdfast.streams.batches import BatchRefusedError
from holdfast.streams.fan_out import BatchSpool
from holdfast.streams.guard import Guard
from holdfast.streams.place import Place, find_place
from holdfast.streams.resolve import check_identities, highest_epoch, resolve_sinks

SPARK = (4, 2)
Written = Callable[[int, MicroBatch, Decision], None]
"""Called when a sink has answered: which sink, which batch, what it decided."""


@dataclass(frozen=True, kw_only=True)
class StreamCode:
    """A stream as its code has it."""

    name: str
    root: str
    source: Path
    sinks: tuple[SinkSpec, ...]
    rows_of: Callable[[SourceFile], list[Row]]
    is_repeatable: bool = True
    files_per_batch: int = 1
    schema: Any = None
    """For sinks that look at the columns of a stream."""


class _NoProbes:
    def ask(self, evidence: StreamEvidence) -> tuple[()]:
        del evidence
        return ()


@dataclass
class Driver:
    """One start of a stream."""

    code: StreamCode
    written: Written = lambda *_: None
    planned: Callable[[MicroBatch], None] = lambda _: None
    guard: Guard = field(init=False)
    evidence: StreamEvidence = field(init=False)
    _open: ExitStack = field(default_factory=ExitStack)
    _run: Run | None = None

    def start(self, *, takeover: bool = False, accept: str | None = None) -> None:
        """Resolve, check, open and fence.

        Raises:
            HoldfastError: The start is refused.
        """
        code = self.code
        given = accepted_by_operator(accept)
        place = find_place(cast("Any", None), code.name, code.root)
        with ExitStack() as undone:
            sinks = resolve_sinks(
                code.sinks, cast("Any", code), stream=code.name, output_mode="append", undone=undone
            )
            lease = take_lease(
                place.record,
                this_process(),
                takeover=takeover,
                after=highest_epoch(sinks, code.name),
            )
            undone.callback(release, place.record, lease)
            self.guard = self._make_guard(place, sinks, lease)
            checked = self.guard.check(given)
            self.evidence = self.guard.open(checked.evidence)
            check_identities(sinks)
            self.guard.fence(self.evidence, checked.accepted)
            self._open = undone.pop_all()
        self._write_run()

    @property
    def sparkSession(self) -> None:  # noqa: N802 - a DataFrame has it
        """None: nothing here needs one."""
        return

    def _make_guard(self, place: Place, sinks: tuple[SinkWriter, ...], lease: Lease) -> Guard:
        for sink in sinks:
            sink.look_again()
        contract = Contract(
            sources=(f"FileSource[file:{self.code.source}]",),
            source_options=({"path": f"file:{self.code.source}"},),
            sinks=tuple(sink.name for sink in sinks),
            sink_places=tuple(sink.describe() for sink in sinks),
            operators=(),
            output_mode="append",
            state_provider="",
            spark="4.2",
        )
        place = place.refreshed()
        return Guard(
            place=place,
            sinks=sinks,
            lease=lease,
            contract=contract,
            before=contract_before(place.record, epoch=lease.epoch, generation=place.generation),
            spark=SPARK,
            probes=_NoProbes(),  # only Kafka is asked
        )

    def _write_run(self) -> None:
        self._run = Run(
            epoch=self.guard.lease.epoch,
            run_id=str(uuid.uuid4()),
            generation=self.evidence.generation.number,
            contract=self.guard.contract.digest,
            spark="4.2",
            started_at=clock.now().isoformat(timespec="seconds"),
            first_batch=self.evidence.newest_committed + 1,
        )
        put_document(self.guard.place.record, self._run)

    def run(self) -> Iterator[str]:
        """Run every batch that there is; yield the name of each point that is reached.

        Raises:
            HoldfastError: A sink refuses a batch.
            SparkFailedError: Spark would fail.
        """
        home = Path(self.guard.place.checkpoint.location.path)
        query = FileSourceQuery(home, self.code.source, files_per_batch=self.code.files_per_batch)
        spool = self._journal()
        while (batch := query.plan()) is not None:
            self.planned(batch)
            yield "offsets"
            yield from self._give(batch, query, spool)
            yield "sinks"
            query.commit(batch)
            yield "committed"

    def _journal(self) -> BatchSpool:
        found = self.evidence
        return BatchSpool(
            record=self.guard.place.record,
            is_needed=len(self.code.sinks) > 1 and not self.code.is_repeatable,
            first_batch=max(found.newest_planned, found.newest_committed + 1),
        )

    def _give(self, batch: MicroBatch, query: FileSourceQuery, spool: BatchSpool) -> Iterator[str]:
        """Give a batch to every sink, as the function that Spark calls does."""
        attempts = self._attempts(batch, query)
        computed = Frame([row for file in batch.files for row in self.code.rows_of(file)])
        with self._rows(spool, computed, attempts[0]) as frame:
            for number, (sink, attempt) in enumerate(zip(self.guard.sinks, attempts, strict=True)):
                decision = sink.write(attempt, cast("Any", frame))
                if isinstance(decision, Refuse):
                    why = f"{sink.display_name}: {decision.reason.value}."
                    raise BatchRefusedError(self.code.name, batch.number, why=why)
                self.written(number, batch, decision)
                yield f"sink-{number}"

    @contextmanager
    def _rows(self, spool: BatchSpool, frame: Frame, attempt: Attempt) -> Iterator[Frame]:
        if len(self.guard.sinks) == 1:
            yield frame
            return
        with spool.rows(cast("Any", frame), attempt) as rows:
            yield cast("Any", rows.frame)

    def _attempts(self, batch: MicroBatch, query: FileSourceQuery) -> Sequence[Attempt]:
        checkpoint, number = self.guard.place.checkpoint, BatchId(batch.number)
        covered = read_coverage(checkpoint, number)
        if isinstance(covered, Unparsed):
            why = f"{covered.path}: {covered.reason}."
            raise BatchRefusedError(self.code.name, number, why=why)
        assert isinstance(covered, Coverage)
        if not same_offsets({canonical_offset(query.end_offset)}, covered.end_offsets):
            raise BatchRefusedError(self.code.name, number, why="another driver wrote it.")
        generation = self.evidence.generation.number
        files = {
            source: [InputFile(each.log_offset, each.timestamp_ms, each.path) for each in entries]
            for source, entries in covered.files.items()
        }
        record = self.guard.place.record
        keep_input_files(record, files, generation=generation, batch=number)
        lease = self.guard.lease
        first = Attempt(
            stream=self.code.name,
            sink="",
            generation=generation,
            epoch=lease.epoch,
            nonce=lease.token,
            binding=self.evidence.binding,
            batch_id=number,
            digest=covered.digest,
            start_offsets=covered.start_offsets,
            end_offsets=covered.end_offsets,
        )
        return [replace(first, sink=sink.name) for sink in self.guard.sinks]

    def close(self) -> None:
        """End: give up the lease, and close the sinks."""
        self._open.close()

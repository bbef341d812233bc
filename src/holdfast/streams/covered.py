"""What a sink's ledger row says the stream has read, as a batch job over exactly that."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.checkpoint.layout import COMMITS, Kind, parse_name
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from holdfast.ledger.coverage import NOTHING_READ, read_coverage
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.source_ranges import KafkaRange, NoRange, Ranges, read_ranges
from holdfast.proof.values import Fault
from holdfast.record.contracts import read_contract
from holdfast.record.generations import CLONED, RESET
from holdfast.record.runs import first_run
from holdfast.streams.batch_form import BatchForm, NoBatchForm, batch_form
from holdfast.streams.declared import Declared
from holdfast.streams.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a table may rightly differ from what was computed again."""

    sentence: str
    explains: Set[Fault] = frozenset(Fault)
    """The differences that it can be the cause of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A stream as a batch job over everything that a sink must hold."""

    form: BatchForm
    records: int | None
    """How many offsets of Kafka it reads; None when the source is another."""


@dataclass(slots=True, kw_only=True)
class Coverages:
    """The batch jobs of one stream; its sinks are at one position as a rule."""

    spark: SparkSession
    declared: Declared
    place: Place
    _known: dict[str, Covered | NoBatchForm] = field(default_factory=dict)

    def of(self, row: LedgerRow) -> Covered | NoBatchForm:
        """Return the job that gives what a row says has arrived, or why there is none.

        Raises:
            ReadError: The checkpoint cannot be listed.
        """
        generation = self.place.generation
        if row.generation != generation.number:
            return NoBatchForm(
                f"its ledger is at generation {row.generation}, and the stream at "
                f"{generation.number}"
            )
        if row.binding.query_id != generation.query_id:
            return NoBatchForm("its ledger row belongs to another checkpoint")
        return self.until(row.end_offsets)

    def until(self, end: str) -> Covered | NoBatchForm:
        """Return the job from the generation's beginning to a position, or why there is none.

        Raises:
            ReadError: The checkpoint cannot be listed.
        """
        if end not in self._known:
            self._known[end] = self._make(end)
        return self._known[end]

    def until_newest_commit(self) -> Covered | NoBatchForm:
        """Return the job up to the newest batch that Spark has committed, or why there is none.

        Raises:
            ReadError: The checkpoint cannot be listed.
        """
        names = [parse_name(info.path) for info in self.place.checkpoint.list(COMMITS).files]
        batches = [each.batch_id for each in names if each.kind is Kind.ENTRY]
        newest = max((batch for batch in batches if batch is not None), default=None)
        if newest is None:
            return self.until(NOTHING_READ)
        covered = read_coverage(self.place.checkpoint, newest)
        if isinstance(covered, Unparsed):
            return NoBatchForm(f"{covered.path}: {covered.reason}")
        return self.until(covered.end_offsets)

    def doubts(self, label: str) -> Iterator[Doubt]:
        """Yield why a sink may rightly hold more or less than what its stream has given.

        Raises:
            ReadError, RecordError: The record cannot be read.
        """
        record, generation = self.place.record, self.place.generation
        first = first_run(record, generation=generation.number)
        contract = None if first is None else read_contract(record, first.contract)
        if contract is not None and label not in contract.sinks:
            yield Doubt("the sink was added later, and holds what came since", {Fault.LOST})
        if generation.why == RESET:
            kept = "the last reset may have kept the rows that were there"
            yield Doubt(kept, {Fault.UNEXPECTED, Fault.DUPLICATED})

    def _make(self, end: str) -> Covered | NoBatchForm:
        start = self._start()
        if isinstance(start, NoBatchForm):
            return start
        ranges = read_ranges(self.place.checkpoint, start=start, end=end)
        if isinstance(ranges, NoRange):
            return NoBatchForm(str(ranges))
        form = batch_form(self.spark, self.declared, ranges)
        return form if isinstance(form, NoBatchForm) else Covered(form=form, records=_count(ranges))

    def _start(self) -> str | NoBatchForm:
        """Return where the generation begins: where it was seeded, or at the beginning.

        An adopted or rewound checkpoint counts from its own beginning: its table has all of that.
        """
        generation = self.place.generation
        if generation.why not in (RESET, CLONED) or generation.first_batch == 0:
            return NOTHING_READ
        seeded = read_coverage(self.place.checkpoint, BatchId(generation.first_batch - 1))
        if isinstance(seeded, Unparsed):
            return NoBatchForm(f"where it begins is not known: {seeded.path}: {seeded.reason}")
        return seeded.end_offsets


def _count(ranges: Ranges) -> int | None:
    found = [each.records for each in ranges.values() if isinstance(each, KafkaRange)]
    return sum(found) if found else None

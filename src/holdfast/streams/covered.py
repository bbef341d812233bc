"""What a sink must hold, as a batch job: everything that its stream has read for it.

That is more than what the current generation has read: rows that a reset has kept, and ranges that
a backfill has written, are the stream's too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import reduce
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.layout import COMMITS, Kind, parse_name
from holdfast.checkpoint.text import canonical
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from holdfast.ledger.coverage import NOTHING_READ, read_coverage
from holdfast.proof.values import Fault
from holdfast.record.backfills import read_backfills
from holdfast.record.contracts import read_contract
from holdfast.record.generations import CLONED, read_generations
from holdfast.record.runs import first_run
from holdfast.sinks.contents import SinkContents
from holdfast.sinks.session import reader_of
from holdfast.sources.ranges import NoRange, Ranges, merge_ranges, read_ranges
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader
from holdfast.streams.batch_form import (
    BatchForm,
    HasState,
    NoBatchForm,
    batch_form,
    read_sources,
    without_options,
)
from holdfast.streams.declared import Declared
from holdfast.streams.kafka_beginning import find_beginnings
from holdfast.streams.lineage import Life, Lineage, find_lineage
from holdfast.streams.place import Place
from holdfast.streams.same_topics import find_replaced_topic
from holdfast.streams.state_form import Batches, state_form

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Backfilled = tuple[int, str, str]
"""The generation of a backfill, where it begins, and up to where a sink holds it."""


class Doubt(msgspec.Struct, frozen=True):
    """Why a table may rightly differ from what was computed again."""

    sentence: str
    explains: Set[Fault] = frozenset(Fault)
    """The differences that it can be the cause of."""


class Covered(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as a batch job over everything that a sink must hold."""

    form: BatchForm
    ranges: tuple[Ranges, ...]
    """What it reads; more than one where the stream has left something out."""
    is_seeded: bool = False
    """Whether it begins at a position that a plan gave the stream."""

    @property
    def records(self) -> int | None:
        """How many records it reads; None when its sources do not count them."""
        each = (each for ranges in self.ranges for each in ranges.values())
        found = [one.records for one in each if one.records is not None]
        return sum(found) if found else None


class Coverages(msgspec.Struct, kw_only=True):
    """The batch jobs of one stream; its sinks are at one position as a rule."""

    spark: SparkSession
    declared: Declared
    place: Place
    began: str | None = None
    """Where it began to read, as somebody says; None without."""
    _known: dict[tuple[object, ...], Covered | NoBatchForm] = msgspec.field(default_factory=dict)

    def of(self, held: SinkContents) -> Covered | NoBatchForm:
        """Return the job that gives what must be in a sink, or why there is none.

        Args:
            held: What the sink holds; its ledger has a row of the stream.

        Raises:
            ReadError, RecordError: The checkpoint or the record cannot be read.
        """
        row, generation = held.row, self.place.generation
        assert row is not None
        if row.generation != generation.number:
            return NoBatchForm(
                f"its ledger is at generation {row.generation}, and the stream at "
                f"{generation.number}"
            )
        if row.binding.query_id != generation.query_id:
            return NoBatchForm("its ledger row belongs to another checkpoint")
        lineage = self._lineage(row.sink, row.end_offsets)
        backfills = []
        for name, kept in read_backfills(self.place.record).items():
            chunk = held.row_of(name) if kept.generation in lineage.numbers else None
            if chunk is not None and chunk.last_batch >= 0:
                backfills.append((kept.generation, kept.start, chunk.end_offsets))
        return self._of(lineage.lives, tuple(backfills), last=row.last_batch)

    def until_newest_commit(self) -> Covered | NoBatchForm:
        """Return the job up to the newest batch that Spark has committed, or why there is none.

        Raises:
            ReadError, RecordError: The checkpoint or the record cannot be read.
        """
        names = [parse_name(info.path) for info in self.place.checkpoint.list(COMMITS).files]
        batches = [each.batch_id for each in names if each.kind is Kind.ENTRY]
        newest = max((batch for batch in batches if batch is not None), default=None)
        end = NOTHING_READ
        if newest is not None:
            covered = read_coverage(self.place.checkpoint, newest)
            if isinstance(covered, Unparsed):
                return NoBatchForm(f"{covered.path}: {covered.reason}")
            end = covered.end_offsets
        return self._of(self._lineage("", end).lives, (), last=-1 if newest is None else newest)

    def doubts(self, held: SinkContents) -> Iterator[Doubt]:
        """Yield why a sink may rightly hold more or less than what its stream has given.

        Raises:
            ReadError, RecordError: The record cannot be read.
        """
        record, generation = self.place.record, self.place.generation
        assert held.row is not None
        first = first_run(record, generation=generation.number)
        contract = None if first is None else read_contract(record, first.contract)
        if contract is not None and held.row.sink not in contract.sinks:
            yield Doubt("the sink was added later, and holds what came since", {Fault.LOST})
        backfills = read_backfills(record)
        if others := [name for name in held.others if name not in backfills]:
            wrote = f"{', '.join(others)} has written into the same table"
            yield Doubt(wrote, {Fault.UNEXPECTED})

    def _lineage(self, sink: str, end: str) -> Lineage:
        return find_lineage(tuple(read_generations(self.place.record)), sink, end=end)

    def _of(
        self, lives: tuple[Life, ...], backfills: tuple[Backfilled, ...], *, last: int
    ) -> Covered | NoBatchForm:
        key = (*((life.generation.number, life.end) for life in lives), backfills, last)
        if key not in self._known:
            made = self._make(lives, backfills)
            if isinstance(made, HasState):
                made = self._with_state(lives, made, is_alone=not backfills, last=last)
            self._known[key] = made
        return self._known[key]

    def _with_state(
        self, lives: tuple[Life, ...], known: HasState, *, is_alone: bool, last: int
    ) -> Covered | NoBatchForm:
        """Return the job of a stream with state, whose state began empty at a known place."""
        life = lives[-1]
        if len(lives) > 1 or not is_alone:
            return NoBatchForm(f"{known.reason}; rows were kept that an earlier state has given")
        if life.opened.opened_as == CLONED or last < 0:
            told = "it has written nothing yet" if last < 0 else "a clone goes on with other state"
            return NoBatchForm(f"{known.reason}; {told}")
        ranges = self._read(life)
        if isinstance(ranges, NoBatchForm):
            return ranges
        batches = Batches(
            checkpoint=self._checkpoint(life.generation.number),
            first=life.opened.first_batch if life.is_seeded else 0,
            last=last,
        )
        form = state_form(self.spark, self.declared, ranges, batches=batches)
        if isinstance(form, NoBatchForm):
            return form
        return Covered(form=form, ranges=(ranges,), is_seeded=life.is_seeded)

    def _make(
        self, lives: Sequence[Life], backfills: Sequence[Backfilled]
    ) -> Covered | NoBatchForm:
        parts: list[Ranges] = []
        for life in lives:
            read = self._read(life)
            if isinstance(read, NoBatchForm):
                return read
            parts.append(read)
        if len(parts) == 1 and not backfills:
            covered = self._run(self.declared, tuple(parts))
            if isinstance(covered, Covered):
                covered = replace(covered, is_seeded=lives[0].is_seeded)
            return covered
        if len(lives) > 1:
            numbers = [life.generation.number for life in lives]
            replaced = find_replaced_topic(self.place.record, numbers, parts)
            if replaced is not None:
                return NoBatchForm(replaced)
        return self._run_all(parts, backfills)

    def _run_all(
        self, parts: list[Ranges], backfills: Sequence[Backfilled]
    ) -> Covered | NoBatchForm:
        """Return the job over several ranges, which may overlap."""
        for number, start, end in backfills:
            # Positions of a file source are those of the log of that generation.
            found = read_ranges(self._checkpoint(number), start=start, end=end)
            if isinstance(found, NoRange):
                return NoBatchForm(f"a backfill: {found}")
            parts.append(found)
        merged = merge_ranges(parts)
        if isinstance(merged, NoRange):
            return NoBatchForm(str(merged))
        # Ranges say where they begin; the option would move those that begin at the beginning.
        return self._run(without_options(self.declared, ("startingversion",)), merged or ({},))

    def _run(self, declared: Declared, parts: tuple[Ranges, ...]) -> Covered | NoBatchForm:
        forms: list[BatchForm] = []
        for ranges in parts:
            form = batch_form(self.spark, declared, ranges)
            if isinstance(form, NoBatchForm):
                return form
            forms.append(form)
        doubts = dict.fromkeys(doubt for form in forms for doubt in form.doubts)
        df = reduce(lambda one, other: one.union(other), (form.df for form in forms))
        form = BatchForm(df=df, doubts=tuple(doubts), sides=forms[0].sides)
        return Covered(form=form, ranges=parts)

    def _read(self, life: Life) -> Ranges | NoBatchForm:
        """Return what one life of the stream has read."""
        checkpoint = self._checkpoint(life.generation.number)
        start = self._start(life, checkpoint)
        if isinstance(start, NoBatchForm):
            return start
        ranges = read_ranges(checkpoint, start=start, end=life.end)
        if isinstance(ranges, NoRange) and start == NOTHING_READ:
            began = find_beginnings(
                self.place.record,
                generation=life.opened.number,
                end=life.end,
                given=self.began,
            )
            again = read_ranges(checkpoint, start=canonical(began), end=life.end)
            ranges = ranges if isinstance(again, NoRange) else again
        if isinstance(ranges, NoRange):
            return NoBatchForm(str(ranges))
        return ranges if life.is_seeded else self._from_options(ranges)

    def _checkpoint(self, number: int) -> Reader:
        """Return the checkpoint of a generation."""
        if number == self.place.generation.number:
            return self.place.checkpoint
        places = {each.number: each.checkpoint for each in read_generations(self.place.record)}
        return reader_of(self.spark, parse_location(places[number]))

    def _start(self, life: Life, checkpoint: Reader) -> str | NoBatchForm:
        """Return where a life begins: where it was seeded, or at the beginning.

        An adopted checkpoint counts from its own beginning: its table has all of that.
        """
        if not life.is_seeded:
            return NOTHING_READ
        if life.began:
            return life.began
        seeded = read_coverage(checkpoint, BatchId(life.opened.first_batch - 1))
        if isinstance(seeded, Unparsed):
            return NoBatchForm(f"where it begins is not known: {seeded.path}: {seeded.reason}")
        return seeded.end_offsets

    def _from_options(self, ranges: Ranges) -> Ranges | NoBatchForm:
        """Return ranges from the beginning as the code has it: of a Delta table, from a version."""
        if not any(each.begins_by_options for each in ranges.values()):
            return ranges
        readings = read_sources(self.spark, self.declared)
        if isinstance(readings, NoBatchForm):
            return readings
        found = dict(ranges)
        for source, each in ranges.items():
            reading = readings.get(source)
            began = each if reading is None else each.by_options(reading)
            if isinstance(began, NoBatchForm):
                return began
            found[source] = began
        return found

"""The part of an undo that gives the sinks back: their rows, and the generation they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from holdfast.apply.stores import Stores
from holdfast.ledger.coverage import NOTHING_READ
from holdfast.ledger.output import EmptyOutput, KeepOutput, Output, RestoreOutput
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.plan.plan_file import Plan
from holdfast.plan.preconditions import LedgerIs
from holdfast.plan.steps import PutFile, RowValue, SettleSink, Step, row_value, says_the_same
from holdfast.record.generations import Generation
from holdfast.record.layout import GENERATIONS


def read_generation(stores: Stores, record: str, number: int) -> Generation:
    """Return a generation of a stream, as its record has it."""
    raw = stores.at(record).read(f"{GENERATIONS}/{number:04d}.json")
    return msgspec.json.decode(raw or b"", type=Generation)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoingSinks:
    """The sinks of one plan that is taken back."""

    plan: Plan
    stores: Stores
    plan_id: str
    """Of the plan that takes it back."""
    opened: Mapping[str, Step]
    """The step that opens a generation, by its stream."""

    def is_of_plan(self, step: SettleSink) -> bool:
        """Return whether a sink is still in the generation and checkpoint that the plan gave it."""
        found = self._read(step)
        binding = (step.new.generation, step.new.checkpoint)
        return found is not None and (found.generation, found.binding.checkpoint) == binding

    def put_back(self, step: SettleSink, number: int, why: str) -> Iterator[Step]:
        """Yield the step that brings a sink to what it was before a step of the plan."""
        found, old = self._read(step), step.old or self._no_row(step)
        if old is None or found is None:
            return
        generation = old.generation
        if step.new.generation > generation:
            generation = step.new.generation + 1
        yield SettleSink(
            stream=step.stream,
            sink=step.sink,
            old=row_value(found),
            new=msgspec.structs.replace(old, generation=generation),
            output=self._output(step, number),
            why=why,
        )

    def take_along(self, stream: str, opened: Generation, why: str) -> Iterator[Step]:
        """Yield the steps that bring sinks which the plan has left alone to a generation.

        They hold the rows of the checkpoint that is gone back to; their ledger rows must say so.
        """
        settled = [each.sink for each in self.plan.steps if isinstance(each, SettleSink)]
        for each in self.plan.preconditions:
            if not isinstance(each, LedgerIs) or each.stream != stream or each.sink in settled:
                continue
            found = self._read(each)
            if each.row is None or found is None or not says_the_same(row_value(found), each.row):
                continue
            yield SettleSink(
                stream=stream,
                sink=each.sink,
                old=row_value(found),
                new=msgspec.structs.replace(each.row, generation=opened.number),
                output=KeepOutput(),
                why=why,
            )

    def _read(self, of: SettleSink | LedgerIs) -> LedgerRow | None:
        found = self.stores.ledger(of.sink, writes=False).read(of.stream)
        return found if isinstance(found, LedgerRow) else None

    def _no_row(self, step: SettleSink) -> RowValue | None:
        """Return a row without a batch for a sink that had none; None if it kept its rows."""
        opened = self.opened.get(step.stream)
        if isinstance(step.output, KeepOutput) or not isinstance(opened, PutFile):
            return None
        before = read_generation(self.stores, opened.place, step.new.generation - 1)
        return msgspec.structs.replace(
            step.new,
            generation=before.number,
            query_id=before.query_id,
            checkpoint=before.checkpoint,
            last_batch=NO_BATCH,
            digest=None,
            end_offsets=NOTHING_READ,
        )

    def _output(self, step: SettleSink, number: int) -> Output:
        ledger = self.stores.ledger(step.sink, writes=False)
        aside = f"holdfast.kept_{self.plan_id.replace('-', '_')}_{number}"
        before = None
        if ledger.keeps_versions:
            aside = ledger.table_version(step.stream) or aside
            # Another writer may have added rows after the plan was made: its version lacks them.
            new = step.new
            before = ledger.version_before(
                step.stream, generation=new.generation, batch=new.last_batch
            )
        match step.output:
            case KeepOutput():
                return KeepOutput()
            case EmptyOutput(kept=kept):
                return RestoreOutput(kept=before or kept, aside=aside)
            case RestoreOutput(aside=kept):
                return RestoreOutput(kept=before or kept, aside=aside)

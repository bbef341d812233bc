"""The part of an undo that brings the sinks back: their rows, and the generation they take.

What becomes of a sink follows from what the plan did to it and from what has happened since. Rows
that the stream has written since are taken away, because the checkpoint that is gone back to reads
them again; they are kept aside. Rows of other writers stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from holdfast import clock
from holdfast.apply.stores import Stores
from holdfast.apply.undo_output import SinkGoingBack, is_kept, tell_output
from holdfast.diagnosis.case import Looks
from holdfast.ledger.coverage import NOTHING_READ
from holdfast.ledger.output import (
    ExchangeOutput,
    KeepOutput,
    Output,
    RestoreOutput,
)
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.ledger.store import Since
from holdfast.plan.plan_file import Need, NoPlan, Plan
from holdfast.plan.preconditions import LedgerIs
from holdfast.plan.steps import (
    Permission,
    PutFile,
    RowValue,
    SettleSink,
    Step,
    digest_of,
    ledger_row,
    row_value,
    says_the_same,
)
from holdfast.plan.world import look_at_stream
from holdfast.record.contracts import SinkContract
from holdfast.record.generations import UNDONE, Generation
from holdfast.record.layout import GENERATIONS


def read_generation(stores: Stores, record: str, number: int) -> Generation:
    """Return a generation of a stream, as its record has it."""
    raw = stores.at(record).read(f"{GENERATIONS}/{number:04d}.json")
    return msgspec.json.decode(raw or b"", type=Generation)


def next_generation(stores: Stores, step: PutFile) -> Generation:
    """Return the generation that goes back to the checkpoint of before a step that opened one."""
    opened = msgspec.json.decode(step.content, type=Generation)
    before = read_generation(stores, step.place, opened.number - 1)
    return msgspec.structs.replace(
        before,
        number=opened.number + 1,
        why=UNDONE,
        was=before.made_as,
        opened_at=clock.now().isoformat(timespec="seconds"),
    )


def find_sinks_now(plan: Plan, streams: Iterable[str], stores: Stores) -> Iterator[LedgerIs]:
    """Yield the sinks that streams have now: what takes an undo back goes back to them."""
    for stream in streams:
        looks = Looks(location=stream, root=plan.root, options=stores.options)
        for sink in look_at_stream(looks).sinks:
            if sink.row is not None:
                row = row_value(sink.row)
                yield LedgerIs(stream=stream, sink=sink.contract, row=row, table=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkUndo:
    """What an undo does to one sink."""

    step: SettleSink
    told: tuple[str, ...] = ()
    """What becomes of it, one sentence each."""
    needs: tuple[Need, ...] = ()


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
        return self._is_at(step, step.new)

    def is_before_plan(self, step: SettleSink) -> bool:
        """Return whether a sink is still in the generation and checkpoint of before the plan.

        The step was not carried out then, whatever batches have come since.
        """
        is_other = step.old is None or _life(step.old) != _life(step.new)
        return is_other and step.old is not None and self._is_at(step, step.old)

    def _is_at(self, step: SettleSink, row: RowValue) -> bool:
        found = self._read(step.stream, step.sink)
        return found is not None and _life(row_value(found)) == _life(row)

    def is_rewritten(self, step: SettleSink) -> bool:
        """Return whether taking a step back replaces the rows of a table that keeps versions."""
        found = self._read(step.stream, step.sink)
        has_run = found is not None and not says_the_same(row_value(found), step.new)
        ledger = self.stores.ledger(step.sink, writes=False)
        return ledger.keeps_versions and not is_kept(step, has_run=has_run)

    def put_back(self, step: SettleSink, number: int, why: str) -> SinkUndo | NoPlan:
        """Return what brings a sink to what it was before a step of the plan."""
        found, old = self._read(step.stream, step.sink), step.old or self._no_row(step)
        if old is None or found is None:
            return self._refuse(step, "its ledger row cannot be read, or is gone")
        opens = step.new.generation > old.generation
        new = msgspec.structs.replace(
            old, generation=step.new.generation + 1 if opens else old.generation
        )
        ledger = self.stores.ledger(step.sink, writes=False)
        has_run = not says_the_same(row_value(found), step.new)
        since = Since(own_rows=0)
        if opens and not is_kept(step, has_run=has_run):
            since = ledger.since(step.stream, generation=step.new.generation)
        aside = f"holdfast.kept_{self.plan_id.replace('-', '_')}_{_digest(step)}_{number}"
        output = SinkGoingBack(step=step, ledger=ledger, aside=aside, has_run=has_run).find(
            since, opens=opens
        )
        if isinstance(output, str):
            return self._refuse(step, output)
        obstacle = ledger.find_obstacle(ledger_row(step.stream, new), output)
        if obstacle is not None:
            return NoPlan(reason=f"Plan {self.plan.id} cannot be taken back. {obstacle}")
        settled = SettleSink(
            stream=step.stream,
            sink=step.sink,
            old=row_value(found),
            new=new,
            output=output,
            why=why,
        )
        told = tuple(tell_output(step, output, since))
        return SinkUndo(step=settled, told=told, needs=tuple(self._needs(step, output, since)))

    def _refuse(self, step: SettleSink, why: str) -> NoPlan:
        return NoPlan(
            reason=f"Plan {self.plan.id} cannot be taken back: of {step.sink.label}, {why}.",
            nearest=f"holdfast plan reset {step.stream} --root {self.plan.root} --from earliest "
            "--output new-table",
        )

    def _needs(self, step: SettleSink, output: Output, since: Since) -> Iterable[Need]:
        """Yield what must be allowed: rows that the stream has written since are taken away."""
        why = ""
        if isinstance(output, ExchangeOutput) and since.own_rows != 0:
            rows = "the rows" if since.own_rows is None else f"{since.own_rows:,} rows"
            what = f"{rows} that generation {output.generation} wrote into it"
            why = f"{step.sink.label} loses {what}; they are kept aside."
        elif isinstance(output, RestoreOutput) and self.plan.undoes is not None:
            why = f"{step.sink.label} loses the rows that the undo gave back."
        if why:
            yield Need(permission=Permission.DESTRUCTIVE, stream=step.stream, why=why)

    def rebind(
        self, stream: str, opened: Generation, *, settled: Iterable[Step], why: str
    ) -> tuple[SettleSink, ...] | NoPlan:
        """Return the steps that bring sinks which the plan has not changed to a generation.

        They hold the rows of the checkpoint that is gone back to; their ledger rows must say so.

        Args:
            stream: Whose generation is opened.
            opened: The generation.
            settled: The steps that the plan has carried out.
            why: Why the steps are there.
        """
        changed = [each.sink for each in settled if isinstance(each, SettleSink)]
        found: list[SettleSink] = []
        for sink, before in self._rows_before(stream):
            row = None if sink in changed else self._read(stream, sink)
            if row is None:
                continue
            if _life(row_value(row)) != _life(before):
                return NoPlan(
                    reason=f"Plan {self.plan.id} cannot be taken back: the ledger row of {stream} "
                    f"in {sink.label} was changed by something else."
                )
            # As it is: a driver that was paused may have brought one more batch meanwhile.
            new = msgspec.structs.replace(row_value(row), generation=opened.number)
            found.append(
                SettleSink(
                    stream=stream,
                    sink=sink,
                    old=row_value(row),
                    new=new,
                    output=KeepOutput(),
                    why=why,
                )
            )
        return tuple(found)

    def _rows_before(self, stream: str) -> list[tuple[SinkContract, RowValue]]:
        """Return the sinks of a stream, each with the row that it had before the plan."""
        seen = [(each.sink, each.row) for each in self._held(stream)]
        seen += [(each.sink, each.old) for each in self._settled(stream)]
        found: list[tuple[SinkContract, RowValue]] = []
        for sink, row in seen:
            if row is not None and sink not in [known for known, _ in found]:
                found.append((sink, row))
        return found

    def _held(self, stream: str) -> list[LedgerIs]:
        held = (each for each in self.plan.preconditions if isinstance(each, LedgerIs))
        return [each for each in held if each.stream == stream]

    def _settled(self, stream: str) -> list[SettleSink]:
        settled = (each for each in self.plan.steps if isinstance(each, SettleSink))
        return [each for each in settled if each.stream == stream]

    def _read(self, stream: str, sink: SinkContract) -> LedgerRow | None:
        found = self.stores.ledger(sink, writes=False).read(stream)
        return found if isinstance(found, LedgerRow) else None

    def _no_row(self, step: SettleSink) -> RowValue | None:
        """Return a row without a batch for a sink that had none; None if nothing was opened."""
        opened = self.opened.get(step.stream)
        if not isinstance(opened, PutFile):
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


def _life(row: RowValue) -> tuple[int, str]:
    """Return the generation and the checkpoint that a row is of."""
    return row.generation, row.checkpoint


def _digest(step: SettleSink) -> str:
    return digest_of(step.stream)[:8]

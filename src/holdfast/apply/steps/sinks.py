"""The step that brings a sink to a named state, and fences it in the same moment.

What becomes of a sink in an undo follows from what the plan did to it and from what has happened
since. Rows that the stream has written since are taken away, because the checkpoint that is gone
back to reads them again; they are kept aside. Rows of other writers stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from holdfast.apply.steps.kind import (
    Done,
    Drifted,
    NotDone,
    StepKind,
    StepState,
    Undoing,
    Undone,
    Work,
)
from holdfast.apply.steps.outputs import SinkGoingBack, describe_output, is_kept, tell_output
from holdfast.apply.stores import Stores
from holdfast.errors import HoldfastError
from holdfast.ledger.coverage import NOTHING_READ
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, Output, RestoreOutput
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.ledger.store import LedgerStore, Since, Unreadable
from holdfast.plan.draft import kept_table
from holdfast.plan.plan_file import Need, NoPlan, Plan
from holdfast.plan.preconditions import LedgerIs
from holdfast.plan.steps import (
    Permission,
    PutFile,
    RowValue,
    SettleSink,
    ledger_row,
    row_value,
    says_the_same,
)
from holdfast.record.generations import Generation
from holdfast.record.layout import generation_path
from holdfast.record.leases import Lease

_PLAIN = "plain-"
"""How the kinds of sinks begin whose streams are not guarded: nobody knows of their ledger rows."""


class SinkNotSettledError(HoldfastError):
    """The ledger row is not the one that the plan names."""

    code = "SINK_NOT_SETTLED"

    def __init__(self, stream: str, sink: str) -> None:
        super().__init__(
            what=f"The sink {sink} of {stream} was not changed.",
            why="Its ledger row changed in the same moment: another driver writes to it.",
            how="Stop that driver, then continue.",
        )


class SinkSteps(StepKind[SettleSink]):
    """Settle a sink: its rows and its ledger row."""

    def describe(self, step: SettleSink) -> str:
        """Say what a step does."""
        if step.sink.kind.startswith(_PLAIN):
            return describe_output(step.output, f"the table {step.sink.label}", versions=True)
        row = f"generation {step.new.generation}, batch {step.new.last_batch}"
        if step.new.last_batch < 0:
            row = f"generation {step.new.generation}, no batch yet"
        return f"{describe_output(step.output, step.sink.label)}; set its ledger row to {row}"

    def look(self, step: SettleSink, stores: Stores) -> StepState:
        """Say how a sink stands to a step."""
        return look_at_sink(step, stores.ledger(step.sink, writes=False))

    def carry_out(self, step: SettleSink, work: Work) -> None:
        """Settle the sink, with the epoch of the stream's lease."""
        assert work.leases is not None
        ledger = work.stores.ledger(step.sink, writes=True)
        change_sink(step, ledger, work.leases.of(step.stream), seen=_seen(step, work.plan))
        work.stores.forget_ledgers()

    def undo(self, step: SettleSink, number: int, undoing: Undoing) -> Undone | NoPlan:
        """Return what brings a sink to what it was before a step of the plan."""
        ledger = undoing.stores.ledger(step.sink, writes=False)
        found = ledger.read(step.stream)
        if isinstance(found, LedgerRow) and not ledger.tells_own_rows:
            return _swap_back(step, number, undoing, found=found)
        old = step.old or _no_row(step, undoing)
        if old is None or not isinstance(found, LedgerRow):
            return _refuse(step, undoing, "its ledger row cannot be read, or is gone")
        opens = step.new.generation > old.generation
        new = msgspec.structs.replace(
            old, generation=step.new.generation + 1 if opens else old.generation
        )
        has_run = not says_the_same(row_value(found), step.new)
        since = Since(own_rows=0)
        if opens and not is_kept(step, has_run=has_run):
            since = ledger.since(step.stream, generation=step.new.generation)
        aside = kept_table(undoing.plan_id, step.stream, number)
        back = SinkGoingBack(step=step, ledger=ledger, aside=aside, has_run=has_run)
        output = back.find(since, opens=opens)
        if isinstance(output, str):
            return _refuse(step, undoing, output)
        obstacle = ledger.find_obstacle(ledger_row(step.stream, new), output)
        if obstacle is not None:
            return NoPlan(reason=f"Plan {undoing.plan.id} cannot be taken back. {obstacle}")
        settled = SettleSink(
            stream=step.stream,
            sink=step.sink,
            old=row_value(found),
            new=new,
            output=output,
            why=undoing.why(number),
        )
        return Undone(
            steps=(settled,),
            told=tuple(tell_output(step, output, since)),
            needs=tuple(_needs(step, output, since, undoing=undoing)),
        )


def _swap_back(
    step: SettleSink, number: int, undoing: Undoing, *, found: LedgerRow
) -> Undone | NoPlan:
    """Return what puts the table of a plain stream back as a whole.

    Whose the rows are that came since is not known: all of them are kept aside.
    """
    ledger = undoing.stores.ledger(step.sink, writes=False)
    aside = kept_table(undoing.plan_id, step.stream, number)
    back = SinkGoingBack(step=step, ledger=ledger, aside=aside, has_run=True)
    output = back.find(Since(own_rows=0), opens=False)
    if isinstance(output, str):
        return _refuse(step, undoing, output)
    new = msgspec.structs.replace(step.old or step.new, generation=found.generation + 1)
    obstacle = ledger.find_obstacle(ledger_row(step.stream, new), output)
    if obstacle is not None:
        return NoPlan(reason=f"Plan {undoing.plan.id} cannot be taken back. {obstacle}")
    settled = SettleSink(
        stream=step.stream,
        sink=step.sink,
        old=row_value(found),
        new=new,
        output=output,
        why=undoing.why(number),
    )
    why = f"{step.sink.label} loses the rows that came since the plan; they are kept."
    need = Need(permission=Permission.DESTRUCTIVE, stream=step.stream, why=why)
    since = Since(own_rows=0)
    return Undone(steps=(settled,), told=tuple(tell_output(step, output, since)), needs=(need,))


def _seen(step: SettleSink, plan: Plan) -> str | None:
    """Return what told the rows of a sink apart when the plan was made.

    None where rows of other writers stay: they may come and go.
    """
    if not isinstance(step.output, EmptyOutput | RestoreOutput):
        return None
    for each in plan.preconditions:
        if isinstance(each, LedgerIs) and (each.stream, each.sink) == (step.stream, step.sink):
            return each.table
    return None


def _no_row(step: SettleSink, undoing: Undoing) -> RowValue | None:
    """Return a row without a batch for a sink that had none; None if nothing was opened."""
    opened = undoing.opened.get(step.stream)
    if not isinstance(opened, PutFile):
        return None
    before = read_generation(undoing.stores, opened.place, step.new.generation - 1)
    return msgspec.structs.replace(
        step.new,
        generation=before.number,
        query_id=before.query_id,
        checkpoint=before.checkpoint,
        last_batch=NO_BATCH,
        digest=None,
        end_offsets=NOTHING_READ,
    )


def _refuse(step: SettleSink, undoing: Undoing, why: str) -> NoPlan:
    return NoPlan(
        reason=f"Plan {undoing.plan.id} cannot be taken back: of {step.sink.label}, {why}.",
        nearest=f"holdfast plan reset {step.stream} --root {undoing.plan.root} --from earliest "
        "--output new-table",
    )


def _needs(step: SettleSink, output: Output, since: Since, *, undoing: Undoing) -> Iterator[Need]:
    """Yield what must be allowed: rows that the stream has written since are taken away."""
    why = ""
    if isinstance(output, ExchangeOutput) and since.own_rows != 0:
        rows = "the rows" if since.own_rows is None else f"{since.own_rows:,} rows"
        what = f"{rows} that generation {output.generation} wrote into it"
        why = f"{step.sink.label} loses {what}; they are kept aside."
    elif isinstance(output, RestoreOutput) and undoing.plan.undoes is not None:
        why = f"{step.sink.label} loses the rows that the undo gave back."
    if why:
        yield Need(permission=Permission.DESTRUCTIVE, stream=step.stream, why=why)


def read_generation(stores: Stores, record: str, number: int) -> Generation:
    """Return a generation of a stream, as its record has it."""
    raw = stores.at(record).read(generation_path(number))
    return msgspec.json.decode(raw or b"", type=Generation)


def look_at_sink(step: SettleSink, ledger: LedgerStore) -> StepState:
    """Say how a sink stands to a step."""
    found = ledger.read(step.stream)
    if isinstance(found, Unreadable):
        return Drifted(f"The ledger of {step.sink.label} cannot be read: {found.why}")
    value = None if found is None else row_value(found)
    if says_the_same(value, step.new):
        return Done()
    if says_the_same(value, step.old):
        return NotDone()
    return Drifted(f"The ledger row of {step.stream} in {step.sink.label} {_how(value, step.old)}.")


def _how(found: RowValue | None, planned: RowValue | None) -> str:
    if found is None:
        return "is gone"
    if planned is None:
        return "was created"
    return f"stands at batch {found.last_batch}, and stood at batch {planned.last_batch}"


def change_sink(step: SettleSink, ledger: LedgerStore, lease: Lease, *, seen: str | None) -> None:
    """Carry a step out.

    Args:
        step: Which is not done.
        ledger: Of the sink.
        lease: Whose epoch the sink is fenced with.
        seen: What told the rows of the sink apart when the plan was made; None: not compared.

    Raises:
        SinkNotSettledError: The row is not the one that the plan names.
        HoldfastError: The sink refused.
    """
    found = ledger.read(step.stream)
    old = found if isinstance(found, LedgerRow) else None
    if old is not None and old.epoch > lease.epoch:  # a newer driver: this lease is lost
        raise SinkNotSettledError(step.stream, step.sink.label)
    # What the plan was made for is replaced, and nothing that came since: a batch, another plan.
    is_planned = not isinstance(found, Unreadable) and says_the_same(
        None if old is None else row_value(old), step.old
    )
    new = replace(ledger_row(step.stream, step.new), epoch=lease.epoch, nonce=lease.token)
    if not is_planned or not ledger.settle(old, new, step.output, seen=seen):
        raise SinkNotSettledError(step.stream, step.sink.label)


def fence_sink(planned: LedgerIs, ledger: LedgerStore, lease: Lease) -> str | None:
    """Let no older driver write to a sink; say what has come in before that, None if nothing has.

    A sink without a row has none that could write to it.

    Args:
        planned: The sink, with the ledger row that the plan was made for.
        ledger: Of the sink.
        lease: Of the stream: its epoch is the fence.
    """
    stream = planned.stream
    found = ledger.read(stream)
    if isinstance(found, LedgerRow):
        # None: this plan was cut short after a fence of the generation that it opens.
        fenced = ledger.hold(found, epoch=lease.epoch, nonce=lease.token)
        found = fenced or ledger.read(stream)
    value = row_value(found) if isinstance(found, LedgerRow) else None
    if value is not None and value.epoch > lease.epoch:
        return f"Another driver of {stream} has fenced {planned.sink.label} since."
    if says_the_same(value, planned.row):
        return None
    return f"The ledger row of {stream} in {planned.sink.label} {_how(value, planned.row)}."

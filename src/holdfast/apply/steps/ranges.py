"""The step that writes a range of a stream's sources into its sinks: what a backfill does."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from holdfast.apply.errors import NotAllowedError
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
from holdfast.apply.stores import Stores
from holdfast.errors import ConfigError
from holdfast.events import emit
from holdfast.events.repairs import BackfillFenced, BackfillLeased
from holdfast.ledger.store import Unreadable
from holdfast.plan.goal import CodeCase
from holdfast.plan.goals.backfill import find_needs, prepare_for
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.steps import WriteRange

if TYPE_CHECKING:
    from holdfast.streams.backfill.prepare import Prepared


class RangeSteps(StepKind[WriteRange]):
    """Write a range, chunk by chunk."""

    def describe(self, step: WriteRange) -> str:
        """Say what a step does."""
        labels = " and ".join(sink.label for sink in step.sinks)
        return f"Write {step.chunks:,} chunks of the range into {labels}"

    def look(self, step: WriteRange, stores: Stores) -> StepState:
        """Say how many chunks the sinks hold."""
        held = []
        for sink in step.sinks:
            row = stores.ledger(sink, writes=False).read(step.stream)
            if isinstance(row, Unreadable):
                return Drifted(f"The ledger of {sink.label} cannot be read: {row.why}")
            held.append(0 if row is None else row.last_batch + 1)
        return Done() if min(held) == step.chunks else NotDone()

    def carry_out(self, step: WriteRange, work: Work) -> None:
        """Write the chunks that a sink lacks.

        Raises:
            BackfillRefusedError: The stream or a sink is no longer as the range needs it.
            ConfigError: The pipeline is not the one that the plan was made with.
            NotAllowedError: Another backfill writes a part of the range too, or records have
                expired since.
            BackfillStoppedError: A chunk could not be written.
        """
        from holdfast.streams.backfill.job import open_job  # noqa: PLC0415 - it reads with Spark

        code, plan = work.stores.code, work.plan
        if plan.asked is None or plan.beside is None or work.leases is None:
            raise ConfigError("The plan does not say which range was asked for.")
        asked = CodeCase(request=plan.asked.request, stream=plan.beside, code=code)
        lease = work.leases.of(step.stream)
        emit(BackfillLeased(stream=step.stream, epoch=lease.epoch))
        with ExitStack() as undone:
            prepared = prepare_for(asked, undone)
            _refuse_other_places(prepared, step, plan)
            job = open_job(prepared, lease, work.check)
            first = job.fence()
            # What others have begun, and what has expired, since the plan was made counts too.
            needed = tuple((each.word, each.why) for each in find_needs(prepared, done=first))
            missing = tuple(each for each in needed if each[0] not in work.allowed)
            if missing:
                raise NotAllowedError(plan.id, missing)
            emit(BackfillFenced(stream=step.stream))
            job.run(first, lambda now: work.progress(now.done, now.chunks))
        work.stores.forget_ledgers()

    def rehearse(self, step: WriteRange, work: Work) -> tuple[str, ...]:
        """Say what is written: a rehearsal writes no row."""
        del work
        return (f"{step.chunks:,} chunks are written",)

    def undo(self, step: WriteRange, number: int, undoing: Undoing) -> Undone | NoPlan:
        """Refuse once a sink holds a chunk: the stream writes into the same table meanwhile."""
        del number
        for sink in step.sinks:
            row = undoing.stores.ledger(sink, writes=False).read(step.stream)
            if isinstance(row, Unreadable):
                return NoPlan(
                    reason=f"Plan {undoing.plan.id} cannot be taken back: the ledger of "
                    f"{sink.label} cannot be read: {row.why}"
                )
            if row is not None and row.last_batch >= 0:
                return NoPlan(
                    reason=f"Plan {undoing.plan.id} cannot be taken back: {sink.label} holds rows "
                    "of the backfill, and cannot tell them from those of the stream."
                )
        return Undone()


def _refuse_other_places(prepared: Prepared, step: WriteRange, plan: Plan) -> None:
    """Refuse a pipeline with another root or other sinks: its rows would go somewhere else.

    Raises:
        ConfigError: It is another one.
    """
    if prepared.name != step.stream:
        raise ConfigError(f"The pipeline gives {prepared.name}, the plan {step.stream}.")
    found, planned = prepared.record.location, plan.record_of(step.stream)
    if found != planned:
        raise ConfigError(f"The pipeline has the backfill at {found}, the plan at {planned}.")
    sinks = tuple(sink.describe() for sink in prepared.sinks)
    if sinks != step.sinks:
        now, then = (", ".join(each.place for each in some) for some in (sinks, step.sinks))
        raise ConfigError(
            f"The pipeline declares other sinks than the plan was made for: now {now}, then {then}."
        )

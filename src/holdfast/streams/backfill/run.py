"""Plans and runs a backfill."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from holdfast.errors import without_our_frames
from holdfast.points import reached
from holdfast.record.leases import LeaseHeldError, take_lease
from holdfast.record.owner import this_process
from holdfast.streams.announce import WaitingTeller
from holdfast.streams.backfill.errors import BackfillRefusedError
from holdfast.streams.backfill.job import Tell, open_job, progress_of
from holdfast.streams.backfill.plan import BackfillPlan, BackfillProgress, describe_needs
from holdfast.streams.backfill.prepare import BackfillRequest, Prepared, find_repeats, prepare
from holdfast.streams.declared import Declared
from holdfast.streams.heartbeat import Keeper
from holdfast.streams.resolve import highest_epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBackfill:
    """A range of a declared stream's sources: nothing is read or written until it is asked to."""

    spark: Any
    declared: Declared
    request: BackfillRequest

    @without_our_frames
    def plan(self) -> BackfillPlan:
        """Return what it would do; nothing is created or changed.

        Raises:
            BackfillRefusedError: The stream, its sinks or the range cannot be backfilled.
            HoldfastError: The range is not one, or something cannot be read.
        """
        with ExitStack() as undone:
            return prepare(self.spark, self.declared, self.request, undone=undone).plan

    @without_our_frames
    def run(self, *, allow: Iterable[str] = (), tell: Tell = lambda _: None) -> BackfillProgress:
        """Write the range into the sinks; go on where an earlier run ended.

        Args:
            allow: What is allowed: `repeats-data:STREAM`, `skips-data:STREAM`.
            tell: Called with the progress before the first chunk and after each.

        Raises:
            BackfillRefusedError: It was refused; nothing was written.
            BackfillStoppedError: It ended before its last chunk; run it again to go on.
            HoldfastError: The range is not one, or something cannot be read.
        """
        words = frozenset(allow)
        with ExitStack() as undone:
            prepared = prepare(self.spark, self.declared, self.request, undone=undone)
            _refuse_unless(prepared.plan, words)
            if prepared.plan.is_done:
                return progress_of(prepared, prepared.plan.done, seconds=0.0)
            job = open_job(prepared, _take_lease(prepared, undone))
            first = job.fence()
            # What others have begun between the plan and the fence counts too.
            why = find_repeats(prepared.known, prepared.chunks, name=prepared.name)
            if why is not None:
                needs = describe_needs(self.declared.name, repeats=why, expired=0)
                _refuse_unless(replace(prepared.plan, needs=needs), words)
            reached("B2")
            return job.run(first, tell)


def as_text(position: str | int | Mapping[str, Any]) -> str:
    """Return a position as the command takes it."""
    return position if isinstance(position, str) else json.dumps(position)


def _take_lease(prepared: Prepared, undone: ExitStack) -> Keeper:
    try:
        lease = take_lease(
            prepared.record,
            this_process(),
            after=highest_epoch(prepared.sinks, prepared.name),
            tell=WaitingTeller(),
        )
    except LeaseHeldError as error:
        how = "Wait until that run has ended, or stop it; then run this again."
        raise BackfillRefusedError(prepared.known.name, why=error.why, how=how) from None
    keeper = Keeper(prepared.record, lease, prepared.sinks)
    keeper.begin()
    undone.callback(keeper.abandon)
    reached("B1")
    return keeper


def _refuse_unless(plan: BackfillPlan, allowed: frozenset[str]) -> None:
    """Refuse what is not allowed.

    Raises:
        BackfillRefusedError: Something is not.
    """
    missing = [need for need in plan.needs if need.word not in allowed]
    if missing:
        why = "; ".join(need.why for need in missing)
        words = " ".join(f"--allow {need.word}" for need in missing)
        how = f"If that is what you want, run it with {words}."
        raise BackfillRefusedError(plan.stream, why=f"{why[:1].upper()}{why[1:]}.", how=how)

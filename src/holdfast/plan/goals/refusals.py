"""Why a stream cannot get a new generation, or its output cannot be changed."""

from __future__ import annotations

from holdfast.plan.plan_file import NoPlan
from holdfast.plan.world import SinkNow, StreamNow

FORBIDDEN = "forbidden"


def refuse_reset(now: StreamNow) -> NoPlan | None:
    """Return why a stream cannot get a new generation; None when it can."""
    guard = now.guard
    if guard is None or guard.contract is None:
        return NoPlan(
            reason=f"{now.stream} has no record of a guarded run: what it writes is not known. "
            "Start it once with hf.start(…, checkpoint=…), then plan the reset."
        )
    locked = refuse_locked(now)
    if locked is not None:
        return locked
    if now.unseen and now.refuse_unreadable() is None:
        return NoPlan(
            reason=f"The sinks {', '.join(now.unseen)} of {now.stream} keep no ledger: Holdfast "
            "cannot settle what they hold."
        )
    return now.refuse_unreadable()


def refuse_locked(now: StreamNow) -> NoPlan | None:
    """Return that a stream is locked in its code; None when it is not."""
    contract = None if now.guard is None else now.guard.contract
    if contract is None or contract.reset != FORBIDDEN:
        return None
    return NoPlan(
        reason=f'{now.stream} is locked against reset in its code: reset="{FORBIDDEN}". '
        "Remove that, start the stream once, and plan again."
    )


def refuse_shared(sink: SinkNow) -> NoPlan:
    """Return why a table of several streams is neither emptied nor put back."""
    names = ", ".join((*sink.others, *sink.backfills))
    return NoPlan(
        reason=f"{sink.shown} also holds rows of {names}, which would be taken away too.",
        nearest="--output keep-from-here: rows with the same keys are written again",
    )

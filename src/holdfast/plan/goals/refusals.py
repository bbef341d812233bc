"""Why a stream cannot get a new generation, or its output cannot be changed."""

from __future__ import annotations

from shlex import quote

from msgspec.structs import replace

from holdfast.plan.goal import command_of
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.requests import Request
from holdfast.plan.world import SinkNow, StreamNow

FORBIDDEN = "forbidden"


def named(now: StreamNow) -> str:
    """Return how a command names a stream: by its name and its root."""
    return f"{now.stream} --root {quote(str(now.root))}"


def say_reset(now: StreamNow) -> str:
    """Return the reset that computes the output again; nothing for a bare checkpoint.

    A table that other streams write into as well keeps its rows.
    """
    if now.guard is None:
        return ""
    request = Request(goal="reset", start="earliest", output="truncate")
    if any(sink.others for sink in now.sinks):
        return keeping(request, now)
    return command_of(request, named(now))


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
    names = ", ".join(sink.others or sink.backfills)
    return NoPlan(
        reason=f"{sink.display_name} also holds rows of {names}, which would be taken away too.",
        needs_kept_output=True,
    )


def keeping(request: Request, now: StreamNow) -> str:
    """Return the command for the same goal with which the sinks keep their rows.

    What a reset then reads again is written again, unless keys find the rows that are there. So it
    begins where the sinks end, where a query can; one with state gets a new table.
    """
    if request.goal == "restore":
        kept = Request(goal="rewind", batch=now.case.newest_committed, output="keep")
        return command_of(kept, named(now))
    if request.goal != "reset":
        return command_of(replace(request, output="keep"), named(now))
    if all(sink.contract.keys for sink in now.sinks):
        kept = replace(request, output="keep-from-here")
    elif now.is_stateful:
        kept = replace(request, output="new-table")
    else:
        kept = replace(request, start="here", output="keep-from-here")
    return command_of(replace(kept, outputs={}), named(now))

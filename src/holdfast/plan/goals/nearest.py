"""The goal that comes nearest where there is no plan: a command that gives one."""

from __future__ import annotations

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.plan.goals.outputs import KEEP, RESTORE
from holdfast.plan.goals.refusals import named, refuse_reset, say_reset
from holdfast.plan.goals.rewind import go_back
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import Permission
from holdfast.plan.world import StreamNow

_MOST_TRIES = 3
"""How many batches are tried: each try reads the logs and lists the state."""


def go_back_instead(now: StreamNow, batch: int) -> str:
    """Return the command that goes back to a batch, or what comes nearest to it."""
    return _say_rewind(now, (batch,)) or _say_reset(now) or _say_rewind(now, (batch,), repeats=True)


def go_on_instead(now: StreamNow) -> str:
    """Return the command that goes back to the newest batch that Spark can go on from.

    Where there is none that repeats no rows, the output is computed again by a reset.
    """
    checkpoint = now.case.checkpoint
    usable = [
        int(batch)
        for batch, entry in checkpoint.offsets.items()
        if isinstance(entry, OffsetEntry) and batch in checkpoint.commits
    ]
    newest = tuple(sorted(usable, reverse=True)[:_MOST_TRIES])
    return _say_rewind(now, newest) or _say_reset(now) or _say_rewind(now, newest, repeats=True)


def _say_reset(now: StreamNow) -> str:
    """Return the reset of a stream; nothing where the reset would be refused."""
    return "" if refuse_reset(now) is not None else say_reset(now)


def _say_rewind(now: StreamNow, batches: tuple[int, ...], *, repeats: bool = False) -> str:
    """Return the rewind to the first of some batches for which there is a plan.

    Args:
        now: The stream, as it is now.
        batches: In the order in which they are tried.
        repeats: Whether it may write rows again that a sink holds.
    """
    if now.guard is None:
        return ""
    for batch in batches:
        for output in (RESTORE, KEEP):
            found = go_back(now, (), batch=batch, output=output) if batch >= 0 else None
            if isinstance(found, Plan) and (repeats or not _repeats(found)):
                command = f"holdfast plan rewind {named(now)} --to-batch {batch}"
                return command if output == RESTORE else f"{command} --output {output}"
    return ""


def _repeats(plan: Plan) -> bool:
    return any(need.permission is Permission.REPEATS_DATA for need in plan.needs)

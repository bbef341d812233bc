"""Whether a query without a lease may be running: its checkpoint was written to just now.

A bare checkpoint has no owner to ask. Its logs are listed twice: when the plan is made and when it
is applied, and a plan whose listing has changed is stale. What was written a moment ago, by the
store's clock, may be followed by more. How long a moment is, the checkpoint's own rhythm says: a
query that plans a batch every five minutes is not stopped because it was quiet for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast import clock
from holdfast.apply.applying import PlanRun
from holdfast.apply.errors import StreamRunsError
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.plan.plan_file import Plan
from holdfast.plan.preconditions import ListingIs
from holdfast.plan.signs import quiet_time
from holdfast.plan.steps import (
    CopyTree,
    FillTree,
    HoldTree,
    PutFile,
    RemoveFile,
    RemoveTree,
    RestoreFile,
)
from holdfast.plan.trees import is_held
from holdfast.record.generations import newest_generation
from holdfast.storage.read import FileInfo, Reader

CLOCKS_S = 300.0
"""By so much the clock of a store may be ahead of ours: what it has just written is not old."""


def find_movement(checkpoint: Reader, *, leaves_out: frozenset[str] = frozenset()) -> str | None:
    """Say what shows that a query writes to a checkpoint; None if nothing does.

    Args:
        checkpoint: Where a query would write.
        leaves_out: Files that say nothing: the plan itself has written them.

    Raises:
        ReadError: The checkpoint cannot be listed.
    """
    listed = {log: checkpoint.list(log).files for log in (OFFSETS, COMMITS)}
    files = [info for found in listed.values() for info in found if info.path not in leaves_out]
    newest = max(files, key=lambda info: info.modified, default=None)
    if newest is None:
        return None
    planned = [info.modified for info in listed[OFFSETS]]
    quiet_s = quiet_time(planned, is_pending=_is_pending(listed))
    ago = (clock.now() - newest.modified).total_seconds()
    if not -CLOCKS_S <= ago < quiet_s:
        return None
    return (
        f"{newest.path} was written {max(ago, 0):.0f} s ago, and a checkpoint without a record has "
        f"no lease to ask. By the pauses between its batches, it must be quiet for {quiet_s:.0f} s."
    )


def _is_pending(listed: Mapping[str, Sequence[FileInfo]]) -> bool:
    """Return whether a batch is planned and not committed: it may be running."""
    newest = {log: max(map(_number, files), default=-1) for log, files in listed.items()}
    return newest[OFFSETS] > newest[COMMITS]


def _number(info: FileInfo) -> int:
    name = info.path.rpartition("/")[2]
    return int(name) if name.isdecimal() else -1


def refuse_movement(applying: PlanRun) -> None:
    """Refuse a bare checkpoint that a query may be writing to: it has no lease.

    Raises:
        StreamRunsError: It moves.
    """
    held = {step.place for step in applying.plan.steps if isinstance(step, HoldTree | FillTree)}
    guarded = {stream for stream, record in applying.records() if newest_generation(record) > 0}
    for stream in set(applying.plan.streams) - guarded:
        for place, own in _checkpoints(applying.plan, stream).items():
            there = applying.stores.at(place)
            # What this plan holds, no query starts from; what it has put there is new.
            is_free = place in held and (is_held(there, METADATA) or applying.journal.done())
            moves = None if is_free else find_movement(there, leaves_out=own)
            if moves is not None:
                raise StreamRunsError(stream, moves)


def _checkpoints(plan: Plan, stream: str) -> dict[str, frozenset[str]]:
    """Return the checkpoints that a plan reads or changes, and what it changes there itself.

    Without copies: nobody but the plan has used those.
    """
    copies = {step.target for step in plan.steps if isinstance(step, CopyTree | RemoveTree)}
    files = [each for each in plan.steps if isinstance(each, PutFile | RemoveFile | RestoreFile)]
    listed = [each for each in plan.preconditions if isinstance(each, ListingIs)]
    held = [each for each in plan.steps if isinstance(each, HoldTree) and each.marker]
    places = {each.place for each in (*files, *listed, *held) if each.stream == stream} - copies
    return {at: frozenset(each.path for each in files if each.place == at) for at in places}

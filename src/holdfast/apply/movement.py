"""Whether a query without a lease may be running: its checkpoint was written to just now.

A bare checkpoint has no owner to ask. Its logs are listed twice: when the plan is made and when it
is applied, and a plan whose listing has changed is stale. What was written a moment ago, by the
store's clock, may be followed by more.
"""

from __future__ import annotations

from holdfast import clock
from holdfast.checkpoint.layout import COMMITS, OFFSETS
from holdfast.storage.read import Reader

QUIET_S = 15.0
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
    listed = [info for each in (OFFSETS, COMMITS) for info in checkpoint.list(each).files]
    files = [info for info in listed if info.path not in leaves_out]
    newest = max(files, key=lambda info: info.modified, default=None)
    ago = QUIET_S if newest is None else (clock.now() - newest.modified).total_seconds()
    if newest is None or not -CLOCKS_S <= ago < QUIET_S:
        return None
    return (
        f"{newest.path} was written {max(ago, 0):.0f} s ago, and a checkpoint without a record has "
        f"no lease to ask. A checkpoint must be quiet for {QUIET_S:.0f} s."
    )

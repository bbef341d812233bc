"""What the next batch needs of each source: where it begins."""

from __future__ import annotations

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources import Offset
from holdfast.evidence.progress import find_progress


def find_needed(checkpoint: Checkpoint) -> dict[str, Offset]:
    """Return the offset from which the next batch reads, by the source's place in the entries.

    A pending batch is run again, so its start is needed; else it is the end of the newest batch. A
    source of which that is not known is left out.
    """
    progress = find_progress(checkpoint)
    needed = {}
    for each in progress.sources:
        offset = each.start if progress.pending else each.end
        if offset is not None:
            needed[each.source] = offset
    return needed

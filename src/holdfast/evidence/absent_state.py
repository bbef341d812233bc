"""What is said when there is no `state/`: whether the query keeps state, few checkpoints tell.

Every version of Spark refuses a query with state that has run and has no `state/`. Commit entries
of state format 2 name state files, and then the refusal is certain (`needed_state`). In format 1
only `state/` itself tells that there was state. A watermark that has moved is a sign of it: without
state it has no use. Where there is not even that, the answer holds for a query without state.
"""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.layout import COMMITS, OFFSETS, STATE
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.outcomes import Resumes, RunsAgain, Unknown, UnknownCause


def judge_absent_state(
    checkpoint: Checkpoint, found: Resumes | RunsAgain
) -> Resumes | RunsAgain | Unknown:
    """Say of a start what the absence of `state/` leaves open."""
    if STATE in checkpoint.directories or found.batch_id == 0:
        return found
    moved = _moved_watermark(checkpoint)
    if moved is None:
        return replace(found, unless=f"the query is stateful: there is no {STATE}/ directory")
    because = (
        f"{moved} has a watermark, as stateful queries do, but there is no {STATE}/ directory. If "
        "the query is stateful, Spark refuses to start"
    )
    return Unknown(cause=UnknownCause.STATE_ABSENT, because=because, follows_from=(moved, STATE))


def _moved_watermark(checkpoint: Checkpoint) -> str | None:
    """Return a newest entry that has a watermark; None when neither log's has one."""
    planned, done = max(checkpoint.offsets, default=None), max(checkpoint.commits, default=None)
    entry = None if planned is None else checkpoint.offsets[planned]
    metadata = entry.metadata if isinstance(entry, OffsetEntry) else None
    if metadata is not None and metadata.batch_watermark_ms > 0:
        return f"{OFFSETS}/{planned}"
    commit = None if done is None else checkpoint.commits[done]
    if isinstance(commit, CommitEntry) and (commit.next_watermark_ms or 0) > 0:
        return f"{COMMITS}/{done}"
    return None

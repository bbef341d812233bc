"""Gives the checkpoint of a plain stream back, from its event log and from the log of its sink.

Spark needs little to go on with a query without state: `metadata` with the query's id, the two
newest offset entries and the newest commit entry. The event log has the offsets of every batch, and
the sink says which batch it holds. What is written is held against both; see `plain_position`.
"""

from __future__ import annotations

import msgspec

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.text import parse_json
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.outputs.output import Output
from holdfast.formats.event_log.history import EventLogHistory
from holdfast.ids import BatchId
from holdfast.plan.entries import commit_file, metadata_file, sidecar_of
from holdfast.plan.goals.plain_history import KnownBatches, entry_of, know_batches, left_entry
from holdfast.plan.goals.plain_parts import NewTree
from holdfast.plan.goals.plain_position import ResumePoint, find_position
from holdfast.plan.goals.plain_query import find_history, is_sink_of, queries_of
from holdfast.plan.goals.plain_sink import Queries, Reached, look_at_delta, look_at_files
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.world import StreamNow
from holdfast.sources.registry import parse_offset
from holdfast.storage.open import open_reader

_SHOWN_PARTITIONS = 4


class GivenBack(msgspec.Struct, frozen=True, kw_only=True):
    """What gives a checkpoint back."""

    tree: NewTree
    position: ResumePoint
    known: KnownBatches
    """The batches of the event log."""
    output: DeltaOutput | FileOutput
    is_pending: bool
    """Whether a batch after the position is planned, by an entry that is left."""

    @property
    def continues(self) -> str:
        """Where the stream goes on, for people."""
        at = ", ".join(_show(str(source), each) for source, each in enumerate(self.position.end))
        which = "the pending batch" if self.is_pending else "batch"
        return f"at {at}, as {which} {self.position.number + 1}, query id {self.known.query_id}"


def is_lost(now: StreamNow) -> bool:
    """Return whether something is gone of what Spark starts from, and the event log may have it."""
    checkpoint = now.case.checkpoint
    planned, committed = now.case.newest_planned, now.case.newest_committed
    if now.guard is not None or now.case.event_log is None:
        return False
    if planned >= 0 and not now.case.outputs:
        return False  # what is left is repaired without them
    if planned < 0 or committed > planned:
        return True
    needed = [BatchId(at) for at in (planned - 1, planned) if at >= 0]
    if any(not isinstance(checkpoint.offsets.get(at), OffsetEntry) for at in needed):
        return True
    log = now.case.event_log
    newest = log.newest_batch if isinstance(log, EventLogHistory) else None
    is_behind = newest is not None and newest.batch_id > planned
    return is_behind or not isinstance(checkpoint.metadata, QueryMetadata)


def give_back(now: StreamNow, asked: str = "") -> GivenBack | NoPlan:
    """Return what gives the checkpoint of a plain stream back, or why that is not possible.

    Args:
        now: The stream, as it is now.
        asked: The id or the name of its query; empty if none was given.

    Raises:
        HoldfastError: The event log or the sink cannot be read.
    """
    queries = queries_of(now)
    history = find_history(now, asked, queries)
    if isinstance(history, NoPlan):
        return history
    known = know_batches(history, now.case.checkpoint, now.stream)
    if isinstance(known, NoPlan):
        return known
    output = _find_output(now, known)
    if isinstance(output, NoPlan):
        return output
    reached = _look(output, known, queries)
    if isinstance(reached, NoPlan):
        return reached
    position = find_position(
        reached,
        known,
        now.case.checkpoint,
        output=output,
        table=open_reader(output.location, now.options),
    )
    if isinstance(position, NoPlan):
        return position
    is_pending = _is_pending(now, known, position)
    return GivenBack(
        tree=_tree(now, known, position, is_pending=is_pending),
        position=position,
        known=known,
        output=output,
        is_pending=is_pending,
    )


def _find_output(now: StreamNow, known: KnownBatches) -> DeltaOutput | FileOutput | NoPlan:
    """Return the sink that was named, if it is the one that the query has written."""
    described = known.newest.sink
    fitting = [each for each in now.case.outputs if is_sink_of(described, each)]
    found = fitting[0] if fitting else None
    if isinstance(found, DeltaOutput | FileOutput):
        return found
    if not now.case.outputs:
        return NoPlan(
            reason=f"Only the sink shows which batch arrived last. The event log says that "
            f"{now.stream} writes to {described}: name it with --sink."
        )
    given = ", ".join(each.display_name for each in now.case.outputs)
    more = _say_applications(now.case.outputs)
    return NoPlan(
        reason=f"The event log says that query {known.query_id} writes to {described}, and "
        f"{given} was named. What it holds of this query is not known.{more}"
    )


def _say_applications(outputs: tuple[Output, ...]) -> str:
    """Say that a table has batches of applications which are no query ids."""
    for output in outputs:
        commits = output.commits if isinstance(output, DeltaOutput) else ()
        names = {
            name: number
            for commit in reversed(commits)
            if not commit.is_streaming
            for name, number in commit.transactions.items()
        }
        for name, number in names.items():
            return (
                f" The table has version {number} of the application {name}, which a function "
                "wrote with txnAppId: whether it is this query is not known."
            )
    return ""


def _look(
    output: DeltaOutput | FileOutput, known: KnownBatches, queries: Queries
) -> Reached | NoPlan:
    if isinstance(output, DeltaOutput):
        return look_at_delta(output, known, queries)
    return look_at_files(output, known)


def _is_pending(now: StreamNow, known: KnownBatches, position: ResumePoint) -> bool:
    """Return whether the batch after the position is planned by an entry that is left."""
    following = position.number + 1
    is_newest = position.number >= known.newest.batch_id and not position.takes_out
    is_committed = BatchId(following) in now.case.checkpoint.commits
    has_entry = left_entry(now.case.checkpoint, following) is not None
    return is_newest and has_entry and not is_committed


def _tree(
    now: StreamNow, known: KnownBatches, position: ResumePoint, *, is_pending: bool
) -> NewTree:
    """Return what the directory has afterwards."""
    checkpoint, number = now.case.checkpoint, position.number
    files = {f"{OFFSETS}/{number}": entry_of(position.end, number, known)}
    if number > 0:
        previous = f"{OFFSETS}/{number - 1}"
        files = {previous: entry_of(position.before, number - 1, known), **files}
    files = {path: text for path, text in files.items() if not _is_there(now, path, text)}
    if not isinstance(checkpoint.commits.get(BatchId(number)), CommitEntry):
        files[f"{COMMITS}/{number}"] = commit_file()
    if not isinstance(checkpoint.metadata, QueryMetadata):
        files[METADATA] = metadata_file(known.query_id)
    if not now.checkpoint.walk_page("").files:
        return NewTree(contents=files)
    gone = [f"{COMMITS}/{at}" for at in checkpoint.commits if at > number]
    gone += [f"{OFFSETS}/{at}" for at in checkpoint.offsets if at > number + is_pending]
    stale = (*gone, *files, *map(sidecar_of, (*gone, *files)), *checkpoint.lone_sidecars)
    return NewTree(contents=files, leaves_out=tuple(dict.fromkeys(stale)))


def _is_there(now: StreamNow, path: str, content: str) -> bool:
    """Return whether an entry that is left says the same."""
    entry = left_entry(now.case.checkpoint, int(path.rpartition("/")[2]))
    if entry is None:
        return False
    wanted = [parse_json(line) for line in content.split("\n")[2:]]
    return [parse_json(each.text or "-") for each in entry.offsets] == wanted


def _show(source: str, text: str | None) -> str:
    """Return where a source is read on, for people."""
    if text is None:
        return f"the beginning of source {source}"
    offset = parse_offset(text)
    topics: dict[str, list[str]] = {}
    for (topic, number), at in offset.parts():
        topics.setdefault(topic, []).append(f"{number}:{at:,}")
    if not topics:
        return f"{offset.named} {offset.describe(source)}"
    return ", ".join(_shorten(topic, parts) for topic, parts in topics.items())


def _shorten(topic: str, parts: list[str]) -> str:
    more = [] if len(parts) <= _SHOWN_PARTITIONS else ["…"]
    return " ".join([topic, *parts[:_SHOWN_PARTITIONS], *more])

"""Whether a query without a lease may be running: its checkpoint was written to just now.

A bare checkpoint has no owner to ask. Its logs are listed twice: when the plan is made and when it
is applied, and a plan whose listing has changed is stale. What was written a moment ago, by the
store's clock, may be followed by more. How long a moment is, the checkpoint's own rhythm says: a
query that plans a batch every five minutes is not stopped because it was quiet for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from holdfast import clock
from holdfast.apply.applying import PlanRun
from holdfast.apply.errors import StreamRunsError
from holdfast.apply.steps.kind import Done
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, STATE
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.ids import BatchId
from holdfast.plan.plan_file import Plan
from holdfast.plan.preconditions import ListingIs
from holdfast.plan.signs import (
    LAST,
    LOG_QUIET_S,
    PENDING_QUIET_S,
    RHYTHM,
    STATE_QUIET_S,
    quiet_time,
)
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
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import FileInfo, Reader

CLOCKS_S = 300.0
"""By so much the clock of a store may be ahead of ours: what it has just written is not old."""

_WAIT = (
    "Make sure that its driver has ended. Then wait until that time, and apply the same plan again."
)
_LATEST_MS = 4_102_444_800_000
"""Sanity limit, the year 2100: a later time of a batch means that the file is corrupt."""


def find_movement(
    checkpoint: Reader,
    *,
    leaves_out: frozenset[str] = frozenset(),
    trees: Sequence[Reader] = (),
) -> str | None:
    """Say what shows that a query writes to a checkpoint; None if nothing does.

    Args:
        checkpoint: Where a query would write.
        leaves_out: Files that say nothing: the plan itself has written them.
        trees: Where every file counts: a batch that runs for long writes state and output.

    Raises:
        ReadError: The checkpoint cannot be listed.
    """
    listed = {log: checkpoint.list(log).files for log in (OFFSETS, COMMITS)}
    logs = (info for found in listed.values() for info in found if info.path not in leaves_out)
    latest = clock.now() + timedelta(seconds=CLOCKS_S)
    files = [(info.modified, info.path) for info in logs if info.modified <= latest]
    files += [each for tree in trees for each in _newest(tree, latest)]
    if not files:
        return None
    newest, path = max(files)
    why, quiet_s = _quiet_time(checkpoint, listed, changes_files=bool(trees))
    ago = (clock.now() - newest).total_seconds()
    if ago >= quiet_s:
        return None
    return (
        f"{path} was written {max(ago, 0):.0f} s ago, and a checkpoint without a record has "
        f"no lease to ask. {why}, it must be quiet for {quiet_s:.0f} s: {_until(newest, quiet_s)}."
    )


def _until(newest: datetime, quiet_s: float) -> str:
    """Say when a sign of life is old enough."""
    end = newest + timedelta(seconds=quiet_s)
    left = max((end - clock.now()).total_seconds(), 0)
    return f"until {end.astimezone(UTC):%H:%M:%S} UTC, {left:.0f} s from now"


def _quiet_time(
    checkpoint: Reader, listed: Mapping[str, Sequence[FileInfo]], *, changes_files: bool
) -> tuple[str, float]:
    """Return why, and for how many seconds, a checkpoint must be quiet.

    A plan that changes files in place waits longer for a query whose rhythm is not known: with a
    trigger of five minutes, it may have planned its first batch just now.
    """
    # A plan that has copied the log has given its files new times: their content has the old ones.
    written = [info.modified for info in listed[OFFSETS]]
    told = [*_planned(checkpoint, listed[OFFSETS])]
    is_new = changes_files and max(len(written), len(told)) < RHYTHM
    is_pending = _is_pending(listed)
    quiet_s = max(quiet_time(each, is_pending=is_new or is_pending) for each in (written, told))
    if changes_files and quiet_s < STATE_QUIET_S and _has_state(checkpoint):
        return "As Spark may upload state for a minute after a query has stopped", STATE_QUIET_S
    if quiet_s > PENDING_QUIET_S or not (is_new or is_pending):
        return "By the pauses between its batches", quiet_s
    if is_pending:
        return "As a batch is planned and not committed", quiet_s
    return f"As it has planned fewer than {RHYTHM} batches", quiet_s


def _has_state(checkpoint: Reader) -> bool:
    found = checkpoint.list(STATE)
    return bool(found.directories or found.files)


def _newest(tree: Reader, latest: datetime) -> Iterator[tuple[datetime, str]]:
    """Yield the newest file below a directory; none is newer than the latest time that counts."""
    times = ((info.modified, info.path) for info in walk_in_order(tree))
    found = max((each for each in times if each[0] <= latest), default=None)
    if found is not None:
        yield found[0], str(tree.location.join(found[1]))


def _planned(checkpoint: Reader, listed: Sequence[FileInfo]) -> Iterator[datetime]:
    """Yield when the last batches were planned, as their entries say it."""
    for info in sorted(listed, key=_number)[-LAST:]:
        raw = checkpoint.read(info.path) if _number(info) >= 0 else None
        entry = None if raw is None else parse_offset_entry(info.path, BatchId(_number(info)), raw)
        found = entry.metadata if isinstance(entry, OffsetEntry) else None
        if found is not None and 0 < found.batch_timestamp_ms < _LATEST_MS:
            yield datetime.fromtimestamp(found.batch_timestamp_ms / 1000, tz=UTC)


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
    for log in applying.plan.watched:
        moves = _find_logging(applying, log)
        if moves is not None:
            raise StreamRunsError(applying.plan.stream, moves, how=_WAIT)
    for stream in set(applying.plan.streams) - guarded:
        for place, own in _checkpoints(applying.plan, stream).items():
            there = applying.stores.at(place)
            # What this plan holds, no query starts from; what it has put there is new.
            is_free = place in held and (is_held(there, METADATA) or applying.journal.done())
            if is_free or _is_as_left(applying, place):
                continue
            moves = find_movement(there, leaves_out=own, trees=_trees(applying, stream))
            if moves is not None:
                raise StreamRunsError(stream, moves, how=_WAIT)


def _is_as_left(applying: PlanRun, place: str) -> bool:
    """Return whether a checkpoint has just what the plan that is taken back has put there.

    Its files are new then, and no query has written to it since.
    """
    put = (each for each in applying.undone_steps() if isinstance(each, FillTree))
    return any(each.place == place and isinstance(applying.look(each), Done) for each in put)


def _trees(applying: PlanRun, stream: str) -> tuple[Reader, ...]:
    """Return the checkpoint and the outputs of a stream that a plan takes the files of."""
    steps = [each for each in applying.plan.steps if isinstance(each, HoldTree)]
    return tuple(applying.stores.at(each.place) for each in steps if each.stream == stream)


def _find_logging(applying: PlanRun, log: str) -> str | None:
    """Say that an event log is written to: a query that runs a long batch writes nothing else."""
    place = parse_location(log)
    above = place if place.parent is None else place.parent
    file = open_reader(above, applying.stores.options).stat(place.name)
    files = open_reader(place, applying.stores.options).list().files if file is None else [file]
    newest = max((info.modified for info in files), default=None)
    ago = None if newest is None else (clock.now() - newest).total_seconds()
    if newest is None or ago is None or not -CLOCKS_S <= ago < LOG_QUIET_S:
        return None
    return (
        f"The event log {log} was written to {max(ago, 0):.0f} s ago, and has no end yet. It must "
        f"be quiet for {LOG_QUIET_S:.0f} s: {_until(newest, LOG_QUIET_S)}."
    )


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

"""Looks at one checkpoint of a fleet with a few requests, and makes its row.

The judgement is the one of every other command: `Case` in, `Judgement` out. Whatever a checkpoint
holds, the answer is a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from holdfast import clock
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, SOURCES, STATE, Kind, parse_name
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources.read import SourceLog
from holdfast.errors import HoldfastError
from holdfast.evidence.candidates import CheckpointCandidate
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect_shallow
from holdfast.evidence.guard_record import (
    GuardRecord,
    UnreadableRecord,
    read_guard_record,
    settle_state,
)
from holdfast.evidence.next_start import predict_by_logs
from holdfast.evidence.outcomes import RunsAgain, Unknown, UnknownCause
from holdfast.evidence.overview import Overview, overview_of
from holdfast.evidence.wording import source_kind
from holdfast.fleet.rows import FleetRow
from holdfast.fleet.shallow import ShallowReader
from holdfast.fleet.values import judged_by, now_ms, short, short_location
from holdfast.judgement.advice import advise
from holdfast.judgement.brief import say_in_short
from holdfast.judgement.judge import Judgement, Verdict, judge
from holdfast.rules.catalogue import catalogue_among_many
from holdfast.spark_versions import SparkVersion, version_text
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location
from holdfast.storage.read import FileInfo, Reader
from holdfast.wording import count

_MOST = 8
"""Of a list in a row."""
_LOGS = (COMMITS, OFFSETS)
_LEAST_HOURS = 1 / 60
"""Files that are closer together were copied, and not written by a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCheckpoint:
    """A checkpoint that was found, and how to read it."""

    reader: Reader
    """Of the location that is scanned."""
    candidate: CheckpointCandidate
    owner: str | None = None

    def at(self, adopted: Location) -> FoundCheckpoint:
        """Return the same stream with the checkpoint that it adopted from another place."""
        return replace(self, candidate=self.candidate._replace(adopted_from=adopted))

    @property
    def location(self) -> Location:
        """Where it is."""
        path, adopted = self.candidate.path, self.candidate.adopted_from
        if adopted is not None:
            return adopted
        return self.reader.location.join(path) if path else self.reader.location

    @property
    def shown_path(self) -> str:
        """Its path below the scanned location, as a row has it."""
        return short(self.candidate.path or self.reader.location.name)


def shows_checkpoint(files: tuple[FileInfo, ...]) -> bool:
    """Return whether a listing has anything that only Spark writes.

    A directory may be called `offsets` and hold other things, checkpoints among them.
    """
    return not files or any(map(_is_of_spark, files))


def _is_of_spark(info: FileInfo) -> bool:
    directory, _, rest = info.path.partition("/")
    if directory in _LOGS:
        return "/" not in rest and parse_name(rest).kind is not Kind.FOREIGN
    if directory in {STATE, SOURCES}:
        return rest.partition("/")[0].isdecimal()
    return info.path in {METADATA, f".{METADATA}.crc"}


def judge_checkpoint(
    found: FoundCheckpoint, reader: ShallowReader, *, spark: SparkVersion | None
) -> FleetRow:
    """Return the row of a checkpoint whose first page was listed.

    Args:
        found: Where it is.
        reader: Of the checkpoint.
        spark: The version that will be started; by default the newest that can have written it.
    """
    try:
        reader.read_first()
        evidence = collect_shallow(reader)
        overview = overview_of(evidence, spark=spark, is_one_version=True)
        record, requests = _read_record(found, overview)
        known = record if isinstance(record, GuardRecord) else None
        overview = settle_state(overview, known)
        case = Case(
            checkpoint=overview.checkpoint,
            now=clock.now(),
            overview=overview,
            record=known,
            record_unread=record.why if isinstance(record, UnreadableRecord) else None,
        )
        judged = judge(case, catalogue_among_many(case))
        row = _row_of(found, reader, judged, record_requests=requests)
        so_far = _verdict_so_far(judged)
        return msgspec.structs.replace(row, so_far=so_far, judged_by=judged_by(spark))
    except HoldfastError as error:
        return unread_row(found, error.why, remedy=error.how, reader=reader)
    except Exception as error:  # noqa: BLE001 - one hostile checkpoint must not end the scan of 10,000
        why = f"Holdfast failed to judge it: {type(error).__name__}: {error}"
        return unread_row(found, why, remedy="Report this as a bug in Holdfast.", reader=reader)


def _verdict_so_far(judged: Judgement) -> Verdict | None:
    """Judge what the logs decide, if only unread state keeps the verdict open."""
    start, overview = judged.next_start, judged.overview
    if judged.verdict is not Verdict.UNKNOWN or not isinstance(start, Unknown):
        return None
    is_unread = start.cause in {UnknownCause.STATE_UNCHECKED, UnknownCause.UNREAD}
    if not is_unread or not all(path.partition("/")[0] == STATE for path in start.follows_from):
        return None
    by_logs = predict_by_logs(judged.case.checkpoint, spark=overview.spark)
    case = replace(judged.case, overview=replace(overview, next_start=by_logs))
    found = judge(case, catalogue_among_many(case)).verdict
    return None if found is Verdict.UNKNOWN else found


def _read_record(
    found: FoundCheckpoint, overview: Overview
) -> tuple[GuardRecord | UnreadableRecord | None, int]:
    """Read the record of a guarded stream where it decides: whether a repeat is recognised."""
    candidate = found.candidate
    if not candidate.is_beside_record or not isinstance(overview.next_start, RunsAgain):
        return None, 0
    above, _, name = candidate.path.rpartition("/")
    root = ShallowReader(SubdirReader(found.reader, above) if above else found.reader)
    return read_guard_record(root, name, adopted_from=candidate.adopted_from), root.requests


def _row_of(
    found: FoundCheckpoint, reader: ShallowReader, judged: Judgement, *, record_requests: int
) -> FleetRow:
    checkpoint, progress = judged.case.checkpoint, judged.overview.progress
    newest, done = max(progress.planned, default=None), max(progress.committed, default=None)
    metadata, record, now = checkpoint.metadata, judged.case.record, now_ms()
    sizes = [info.size_bytes for info in reader.files]
    return FleetRow(
        location=short_location(found.location),
        path=found.shown_path,
        owner=found.owner,
        stream=None if record is None else short(record.stream),
        verdict=judged.verdict,
        is_certain=judged.is_certain,
        codes=tuple(dict.fromkeys(each.code for each in judged.findings))[:_MOST],
        decided_by=None if judged.decided_by is None else judged.decided_by.code,
        sentence=short(say_in_short(judged)),
        what_to_do=short(advise(judged)),
        query_id=short(metadata.query_id) if isinstance(metadata, QueryMetadata) else None,
        newest_batch=newest,
        committed_batch=done,
        is_pending=None if newest is None else bool(progress.pending),
        newest_ms=progress.newest_ms,
        written_ms=_newest_written(reader.files),
        writes_per_hour=_writes_per_hour(reader.files),
        sources=_some(source_kind(each.end) for each in progress.sources),
        sinks=_some(_sinks(judged)),
        operators=_some(each.name or "unknown" for each in checkpoint.state),
        spark=version_text(judged.overview.spark),
        files=len(sizes),
        size_bytes=sum(sizes),
        is_all_listed=reader.is_all_listed,
        requests=reader.requests + record_requests,
        limit=reader.most,
        not_read=_not_read(checkpoint, reader),
        fingerprint=reader.fingerprint,
        judged_ms=now,
        seen_ms=now,
    )


def unread_row(
    found: FoundCheckpoint, why: str, *, remedy: str, reader: ShallowReader | None = None
) -> FleetRow:
    """Return the row of what could not be read, or not judged."""
    files, now = () if reader is None else reader.files, now_ms()
    return FleetRow(
        location=short_location(found.location),
        path=found.shown_path,
        owner=found.owner,
        verdict=Verdict.UNKNOWN,
        sentence=short(f"could not be read: {why}"),
        what_to_do=short(remedy),
        files=len(files),
        size_bytes=sum(info.size_bytes for info in files),
        is_all_listed=False,
        requests=1 if reader is None else reader.requests,
        unread=short(why),
        judged_ms=now,
        seen_ms=now,
    )


def replaced_row(found: FoundCheckpoint, generation: int) -> FleetRow:
    """Return the row of a checkpoint that is not started again."""
    now = now_ms()
    return FleetRow(
        location=short_location(found.location),
        path=found.shown_path,
        owner=found.owner,
        verdict=Verdict.SAFE,
        sentence=f"not started again: replaced by generation {generation}",
        replaced_by=generation,
        requests=1,
        judged_ms=now,
        seen_ms=now,
    )


def _newest_written(files: tuple[FileInfo, ...]) -> int | None:
    """Return when the newest log entry was written; None without any."""
    times = (each.modified for each in files if each.path.partition("/")[0] in _LOGS)
    newest = max(times, default=None)
    return None if newest is None else round(newest.timestamp() * 1_000)


def _writes_per_hour(files: tuple[FileInfo, ...]) -> float | None:
    """Return how many files a query writes in an hour, by the times of those that it keeps."""
    commits = [each.modified for each in files if each.path.startswith(f"{COMMITS}/")]
    hours = (max(commits) - min(commits)).total_seconds() / 3_600 if commits else 0
    if hours < _LEAST_HOURS:
        return None
    return round(sum(each.modified > min(commits) for each in files) / hours, 1)


def _sinks(judged: Judgement) -> list[str]:
    """Name the sinks that the record or the newest commit entry names."""
    record = judged.case.record
    if record is not None and record.contract is not None:
        return [each.place for each in record.contract.sink_places]
    return [each.name for each in judged.overview.progress.sinks if each.is_active]


def _not_read(checkpoint: Checkpoint, reader: ShallowReader) -> tuple[str, ...]:
    unread = [f"{each.path}: {each.reason}" for each in checkpoint.unparsed if each.unread]
    if checkpoint.state_unread is not None:
        unread.append(f"{STATE}/: {checkpoint.state_unread}")
    partly = [path for log in checkpoint.sources for path in log.partly_read]
    unread += [f"{path}: only its beginning and its end were read" for path in partly]
    unread += [_listed(log) for log in checkpoint.sources if log.listed_only]
    known = {each.partition(":")[0] for each in unread}
    unread += [f"{path}: the limit was reached" for path in reader.refused if path not in known]
    return _some(dict.fromkeys(unread))


def _listed(log: SourceLog) -> str:
    number = count(len(log.listed_only), "file")
    return f"{SOURCES}/{log.name}: {number} of its log listed and not read"


def _some(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the first texts of many, and how many more there are."""
    found = list(map(short, texts))
    if len(found) > _MOST:
        found[_MOST - 1 :] = [f"and {len(found) - _MOST + 1:,} more"]
    return tuple(found)

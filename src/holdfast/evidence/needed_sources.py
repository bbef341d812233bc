"""What the next start needs of the sources' own files, and offsets that are gone.

From Spark 4.2 `runtime/FileStreamSource.scala`: at every start it reads its log from the newest
compact file on, and the entries of the newest batch once more, also when that is committed. Any of
them that is missing or damaged ends the start.

A source whose line in an entry is `-` has no offset there. When an older entry has one, somebody
took it away, and Spark reads again what it has read before.
"""

from __future__ import annotations

from holdfast.checkpoint.layout import SOURCES
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources.read import SourceLog
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.outcomes import Refuses, Reread, Unknown, UnknownCause
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.ids import BatchId
from holdfast.sources.registry import began_of, parse_offset
from holdfast.spark_versions import Behaviour

_USUAL_INTERVAL = 10
"""Spark's default of `spark.sql.streaming.fileSource.log.compactInterval`."""


def judge_sources(checkpoint: Checkpoint) -> Refuses | Unknown | None:
    """Say whether the log of a file source stops the next start."""
    entry = checkpoint.offsets[max(checkpoint.offsets)]
    if not isinstance(entry, OffsetEntry):
        return None
    logs = {log.name: log for log in checkpoint.sources}
    for each in entry.offsets:
        offset = None if each.text is None else parse_offset(each.text)
        # One directory can serve two lines: a stream joined with itself.
        is_shared = each.source not in logs and any(
            other.text == each.text and other.source in logs for other in entry.offsets
        )
        if offset is not None and offset.log_index is not None and not is_shared:
            found = _judge_log(each.source, logs.get(each.source), offset.log_index)
            if found is not None:
                return found
    return None


def _judge_log(source: str, log: SourceLog | None, index: int) -> Refuses | Unknown | None:
    home = f"{SOURCES}/{source}"
    there = set() if log is None else {*log.entries, *log.compacts}
    newest = max((index, *there))
    compacts = () if log is None else log.compacts
    missing = _missing_file(compacts, there, newest)
    if index >= 0 and missing is not None:
        path = f"{home}/{missing}"
        because = f"{path} is missing, and the file source reads its log at every start"
        return Refuses(
            code=RefusalCode.SOURCE_LOG_ENTRY_MISSING,
            error="doesn't exist" if missing.isdecimal() else "does not exist",
            because=because,
            follows_from=(path,),
        )
    began = None if log is None else began_of(log)
    damaged = [began] if isinstance(began, Unparsed) else []
    for broken in () if log is None else (*damaged, *log.unparsed):
        because = f"{broken.path}: {broken.reason}"
        if broken.unread:
            return Unknown(cause=UnknownCause.UNREAD, because=because, follows_from=(broken.path,))
        error = broken.spark_says or "Unexpected end-of-input"
        return Refuses(
            code=RefusalCode.SOURCE_LOG_ENTRY_UNREADABLE,
            error=error,
            because=because,
            follows_from=(broken.path,),
        )
    sidecar = f"{home}/.{newest + 1}.crc"
    if log is not None and sidecar in log.lone_sidecars:
        because = f"{sidecar} blocks the entry {newest + 1}, which Spark writes next"
        return Refuses(
            code=RefusalCode.SOURCE_LOG_BLOCKED_BY_CHECKSUM,
            error="Multiple streaming queries are concurrently using",
            because=because,
            follows_from=(sidecar,),
        )
    return None


def _missing_file(compacts: tuple[BatchId, ...], there: set[BatchId], newest: int) -> str | None:
    """Return the name of a file that Spark reads at every start and that is not there."""
    compact = _expected_compact(compacts, max(there, default=-1))
    if compact is not None and compact not in compacts:
        return f"{compact}.compact"
    base = max(compacts, default=-1)
    missing = (number for number in range(newest, base, -1) if number not in there)
    return next(map(str, missing), None)


def _expected_compact(compacts: tuple[BatchId, ...], newest: int) -> int | None:
    """Return the compact file that Spark begins to read at; None without any compact file.

    From Spark 4.2 `CompactibleFileStreamLog.scala`: the two newest compact files say after how many
    entries it compacts. A single one says it too: it is the first, or a multiple of ten.
    """
    if not compacts:
        return None
    last = compacts[-1]
    interval = last - compacts[-2] if len(compacts) > 1 else _interval_of(last)
    expected = (newest + 1) // interval * interval - 1
    return expected if expected >= 0 else None


def _interval_of(compact: int) -> int:
    """Return after how many entries Spark compacts, by a single compact file and its default."""
    entries = compact + 1
    return _USUAL_INTERVAL if entries % _USUAL_INTERVAL == 0 else entries


def find_rereads(checkpoint: Checkpoint, does: Behaviour) -> tuple[Reread, ...]:
    """Name the sources that a start reads again because their offset was taken away."""
    newest = max(checkpoint.offsets)
    entry, before = (_offsets(checkpoint, newest - back) for back in (0, 1))
    older: set[str] = set()
    for batch in checkpoint.offsets:
        if batch < newest:
            older |= {source for source, text in _offsets(checkpoint, batch).items() if text}
    is_pending = newest not in checkpoint.commits
    rereads = []
    # In a log that names its sources, one without an offset has no line at all.
    for source, text in {**dict.fromkeys(before), **entry}.items():
        if text is None and source in older:
            is_forgotten = is_pending and does.forgets_start
            is_known = before.get(source) is not None and not is_forgotten
            after = BatchId(newest - 1) if is_known else None
            rereads.append(Reread(source=source, after=after))
        elif text and before.get(source, text) is None and is_pending and source in older:
            rereads.append(Reread(source=source, after=None))
    return tuple(rereads)


def _offsets(checkpoint: Checkpoint, batch: int) -> dict[str, str | None]:
    entry = checkpoint.offsets.get(BatchId(batch))
    return (
        {each.source: each.text for each in entry.offsets} if isinstance(entry, OffsetEntry) else {}
    )

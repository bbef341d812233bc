"""Files of a checkpoint as Spark writes them, and the steps that write or remove one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from holdfast.checkpoint.offsets import OffsetEntry, OffsetMetadata
from holdfast.checkpoint.sources.files import FileEntry
from holdfast.plan.steps import PutFile, RemoveFile, digest_of
from holdfast.plan.world import StreamNow

COMPACT_INTERVAL = 10
"""Of the log of a file source: Spark's own default, `spark.sql.streaming.fileSource.log…`."""


def metadata_file(query_id: str) -> str:
    """Return `metadata` with a query's id."""
    return json.dumps({"id": query_id}, separators=(",", ":"))


def offset_file(
    offsets: Mapping[str, object], metadata: OffsetMetadata, *, sources: int = 0
) -> str:
    """Return an offset entry.

    Args:
        offsets: Of each source, as a ledger row has them; a source is its place, or its name.
        metadata: Its second line.
        sources: How many the query has, where they are places: Spark asks for a line of each.
    """
    second = {
        "batchWatermarkMs": metadata.batch_watermark_ms,
        "batchTimestampMs": metadata.batch_timestamp_ms,
        "conf": dict(metadata.conf),
    }
    is_positional = all(source.isdecimal() for source in offsets)
    lines = ["v1" if is_positional else "v2", _compact(second)]
    if is_positional:
        places = range(max(max(map(int, offsets), default=-1) + 1, sources))
        lines += [_offset(offsets[str(at)]) if str(at) in offsets else "-" for at in places]
    else:
        lines += [f"{source}:{_offset(offset)}" for source, offset in offsets.items()]
    return "\n".join(lines)


def commit_file(*, next_watermark_ms: int = 0) -> str:
    """Return a commit entry of a query without state."""
    return f"v1\n{_compact({'nextBatchWatermarkMs': next_watermark_ms})}"


def metadata_like(entry: OffsetEntry | None, *, now_ms: int) -> OffsetMetadata:
    """Return the second line for a new entry: the settings of another one, and the time of now."""
    known = None if entry is None else entry.metadata
    return OffsetMetadata(
        batch_watermark_ms=0 if known is None else known.batch_watermark_ms,
        batch_timestamp_ms=now_ms,
        conf={} if known is None else known.conf,
    )


def kafka_offset(offsets: Mapping[str, Mapping[int, int]]) -> dict[str, dict[str, int]]:
    """Return a Kafka offset as JSON has it."""
    return {
        topic: {str(number): offset for number, offset in sorted(partitions.items())}
        for topic, partitions in sorted(offsets.items())
    }


def file_log(entries: Iterable[FileEntry]) -> str:
    """Return one file of the log of a file source."""
    lines = (
        _compact({"path": each.path, "timestamp": each.timestamp_ms, "batchId": each.log_offset})
        for each in entries
    )
    return "\n".join(("v1", *lines))


def file_log_files(
    entries: Iterable[FileEntry], newest: int, *, interval: int = COMPACT_INTERVAL
) -> dict[str, str]:
    """Return the files of a file source's log up to a number, as Spark would have left them.

    One compact file with everything up to the last number that Spark compacts at, and a plain file
    for every number after it: Spark asks for each of them.
    """
    by_number: dict[int, list[FileEntry]] = {}
    for each in entries:
        by_number.setdefault(each.log_offset, []).append(each)
    compacted = (newest + 1) // interval * interval - 1
    files = {}
    if compacted >= 0:
        before = [each for at in sorted(by_number) if at <= compacted for each in by_number[at]]
        files[f"{compacted}.compact"] = file_log(before)
    for number in range(compacted + 1, newest + 1):
        files[str(number)] = file_log(by_number.get(number, ()))
    return files


def _offset(value: object) -> str:
    return value if isinstance(value, str) else _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def put_file(now: StreamNow, path: str, content: str, *, why: str) -> PutFile:
    """Return the step that writes a file of a checkpoint, in the place of what is there."""
    old = now.checkpoint.read(path)
    return PutFile(
        stream=now.stream,
        place=now.place,
        path=path,
        content=content,
        replaces=None if old is None else digest_of(old),
        why=why,
    )


def sidecar_of(path: str) -> str:
    """Return where Hadoop keeps the checksums of a file."""
    directory, _, name = path.rpartition("/")
    return f"{directory}/.{name}.crc" if directory else f".{name}.crc"


def remove_file(now: StreamNow, path: str, *, why: str) -> Iterator[RemoveFile]:
    """Yield the steps that remove a file of a checkpoint, and Hadoop's checksums of it."""
    for each in (path, sidecar_of(path)):
        raw = now.checkpoint.read(each)
        if raw is not None:
            yield removal(now, now.place, path=each, raw=raw, why=why)


def remove_file_alone(now: StreamNow, path: str, *, why: str) -> Iterator[RemoveFile]:
    """Yield the step that removes one file of a checkpoint, if it is there."""
    raw = now.checkpoint.read(path)
    if raw is not None:
        yield removal(now, now.place, path=path, raw=raw, why=why)


def removal(now: StreamNow, place: str, *, path: str, raw: bytes, why: str) -> RemoveFile:
    """Return the step that removes a file with this content."""
    return RemoveFile(stream=now.stream, place=place, path=path, sha256=digest_of(raw), why=why)

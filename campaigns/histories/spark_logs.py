"""A small engine that writes a checkpoint as Spark's micro-batch engine does, for a file source.

It plans, commits and starts again by the same rules as Spark 4.2 (`MicroBatchExecution`,
`FileStreamSource`): the log of the source first, then `offsets/N`, then the batch, then
`commits/N`. `tests/spark/test_histories.py` compares its files with those of real Spark.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPACT_EVERY = 10
CHUNK = 512
COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'
_STATE = "spark.sql.streaming.stateStore"
CONF = {
    f"{_STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state."
    "HDFSBackedStateStoreProvider",
    f"{_STATE}.rocksdb.mergeOperatorVersion": "2",
    f"{_STATE}.rocksdb.formatVersion": "5",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "false",
    f"{_STATE}.encodingFormat": "unsaferow",
    "spark.sql.streaming.statefulOperator.useStrictDistribution": "true",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "2",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    f"{_STATE}.rowChecksum.enabled": "false",
    "spark.sql.streaming.aggregation.stateFormatVersion": "2",
    "spark.sql.function.protobufExtensions.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.join.stateFormatVersion": "2",
    f"{_STATE}.compression.codec": "lz4",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": "false",
}
"""What Spark 4.2 pins in an offset entry of a query without state."""


class SparkFailedError(Exception):
    """Spark would fail to start the query, or to go on with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file of the source, as its log has it."""

    path: str
    timestamp_ms: int

    @property
    def name(self) -> str:
        """Its name in the source's directory."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """One batch that is planned."""

    number: int
    files: tuple[SourceFile, ...]
    end: int
    """Where it ends in the log of the source."""


class FileSourceQuery:
    """One run of a query that reads a directory with `availableNow`."""

    def __init__(self, checkpoint: Path, source: Path, *, files_per_batch: int = 1) -> None:
        """Read the logs, as a start of Spark does.

        Raises:
            SparkFailedError: Spark would refuse to start.
        """
        self._home = checkpoint
        self._per_batch = files_per_batch
        self._clock_ms = 1_800_000_000_000
        self._log = dict(_read_source_log(checkpoint / "sources/0"))
        seen = {each.path for entries in self._log.values() for each in entries}
        listed = sorted(_list_source(source), key=lambda each: (each.timestamp_ms, each.path))
        self._waiting = [each for each in listed if each.path not in seen]
        self._pending: MicroBatch | None = None
        self._end = -1
        self._next = 0
        self._resume()

    @property
    def end_offset(self) -> str:
        """The end of the batch that is running, as the source writes it."""
        return f'{{"logOffset":{self._end}}}'

    def _resume(self) -> None:
        offsets, commits = _numbers(self._home / "offsets"), _numbers(self._home / "commits")
        if not offsets:
            if commits:
                raise SparkFailedError("there are commits and no offsets")
            return
        newest, committed = max(offsets), max(commits, default=-1)
        if newest > 0 and newest - 1 not in offsets:
            raise SparkFailedError(f"batch {newest - 1} doesn't exist")
        if committed > newest:
            raise SparkFailedError(f"commits/{committed} is ahead of offsets/{newest}")
        end = _end_of(self._home, newest)
        start = _end_of(self._home, newest - 1) if newest > 0 else -1
        if committed == newest:
            self._next, self._end = newest + 1, end
            return
        self._next, self._end = newest, start
        self._pending = MicroBatch(number=newest, files=self._between(start, end), end=end)

    def _between(self, start: int, end: int) -> tuple[SourceFile, ...]:
        missing = [at for at in range(start + 1, end + 1) if at not in self._log]
        if missing:
            raise SparkFailedError(f"sources/0/{missing[0]} is not there")
        return tuple(each for at in range(start + 1, end + 1) for each in self._log[at])

    def plan(self) -> MicroBatch | None:
        """Plan the next batch, and write it down; None when nothing is left to read.

        Raises:
            SparkFailedError: Another driver has planned it.
        """
        if self._pending is not None:
            found, self._pending = self._pending, None
            self._end = found.end
            return found
        taken, self._waiting = (
            self._waiting[: self._per_batch],
            self._waiting[self._per_batch :],
        )
        newest = max(self._log, default=-1)
        if taken:
            newest += 1
            self._write_source_log(newest, taken)
        if newest <= self._end:
            return None
        batch = MicroBatch(number=self._next, files=self._between(self._end, newest), end=newest)
        self._put_new(f"offsets/{batch.number}", self._offset_entry(newest))
        self._end = newest
        return batch

    def commit(self, batch: MicroBatch) -> None:
        """Write down that a batch is done."""
        self._put_new(f"commits/{batch.number}", COMMIT)
        self._next = batch.number + 1

    def _offset_entry(self, end: int) -> bytes:
        count = len(list((self._home / "offsets").glob("*")))
        line: dict[str, Any] = {
            "batchWatermarkMs": 0,
            "batchTimestampMs": self._clock_ms + count,
            "conf": CONF,
        }
        said = json.dumps(line, separators=(",", ":"))
        return f'v1\n{said}\n{{"logOffset":{end}}}'.encode()

    def _write_source_log(self, number: int, files: list[SourceFile]) -> None:
        self._log[number] = files
        numbers, name = [number], str(number)
        if (number + 1) % COMPACT_EVERY == 0:
            numbers, name = sorted(self._log), f"{number}.compact"
        lines = [_entry(each, at) for at in numbers for each in self._log[at]]
        self._put_new(f"sources/0/{name}", "\n".join(["v1", *lines]).encode())

    def _put_new(self, path: str, content: bytes) -> None:
        if (self._home / path).exists():
            raise SparkFailedError(f"concurrent update to the log: {path} is there")
        put(self._home / path, content)


def read_batch(checkpoint: Path, number: int) -> MicroBatch:
    """Return a batch as the logs of a checkpoint have it."""
    log = dict(_read_source_log(checkpoint / "sources/0"))
    end = _end_of(checkpoint, number)
    start = _end_of(checkpoint, number - 1) if number > 0 else -1
    files = tuple(each for at in range(start + 1, end + 1) for each in log[at])
    return MicroBatch(number=number, files=files, end=end)


def _end_of(checkpoint: Path, batch: int) -> int:
    lines = (checkpoint / f"offsets/{batch}").read_text().split("\n")
    try:
        return -1 if lines[2] == "-" else int(json.loads(lines[2])["logOffset"])
    except (IndexError, ValueError, KeyError, TypeError) as error:
        raise SparkFailedError(f"offsets/{batch} cannot be read") from error


def put(path: Path, content: bytes) -> None:
    """Write a file with its checksums, as Hadoop's local file system does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    chunks = (content[at : at + CHUNK] for at in range(0, len(content), CHUNK))
    sums = b"".join(struct.pack(">I", zlib.crc32(each)) for each in chunks)
    (path.parent / f".{path.name}.crc").write_bytes(b"crc\0" + struct.pack(">I", CHUNK) + sums)
    path.write_bytes(content)


def _entry(file: SourceFile, number: int) -> str:
    found = {"path": file.path, "timestamp": file.timestamp_ms, "batchId": number}
    return json.dumps(found, separators=(",", ":"))


def _numbers(directory: Path) -> list[int]:
    if not directory.is_dir():
        return []
    return [int(each.name) for each in directory.iterdir() if each.name.isdecimal()]


def _list_source(source: Path) -> Iterator[SourceFile]:
    for each in source.iterdir():
        yield SourceFile(path=f"file://{each}", timestamp_ms=each.stat().st_mtime_ns // 1_000_000)


def _read_source_log(home: Path) -> Iterator[tuple[int, list[SourceFile]]]:
    """Yield the files of each entry: the newest compact file, and what follows it."""
    if not home.is_dir():
        return
    names = [each.name for each in home.iterdir() if not each.name.startswith(".")]
    compacts = [int(name.removesuffix(".compact")) for name in names if name.endswith(".compact")]
    newest = max(compacts, default=-1)
    later = sorted(int(name) for name in names if name.isdecimal() and int(name) > newest)
    found: dict[int, list[SourceFile]] = {}
    for name in ([f"{newest}.compact"] if newest >= 0 else []) + [str(at) for at in later]:
        number = int(name.removesuffix(".compact"))
        found.setdefault(number, [])
        for line in (home / name).read_text().split("\n")[1:]:
            entry = json.loads(line)
            file = SourceFile(path=entry["path"], timestamp_ms=entry["timestamp"])
            found.setdefault(entry["batchId"], []).append(file)
    yield from found.items()

"""The file sink's own log: `_spark_metadata` in the output directory, not in the checkpoint.

Entries, from Spark 4.3 `sinks/FileStreamSinkLog.scala`: a file log; its number is the batch.

    {"path":"file:///out/part-….parquet","size":971,"isDir":false,"modificationTime":<ms>,
     "blockReplication":1,"blockSize":33554432,"action":"add"}

A file counts as output only when it is listed. A batch at or below the newest number is passed over
without a word, so a new checkpoint on an old output directory writes nothing until its batches have
caught up (`FileStreamSink.addBatch`).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.checkpoint.file_log import parse_entries
from holdfast.checkpoint.layout import Kind, parse_name
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from holdfast.storage.read import Reader

DIRECTORY = "_spark_metadata"


class SinkEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One file that the sink has written."""

    path: str
    size_bytes: int = msgspec.field(name="size")
    action: str = "add"
    """`add`; `delete` in very old logs."""
    modified_ms: int = msgspec.field(name="modificationTime", default=0)
    """When the file was written, by the store's clock; 0 when the log does not say."""


class SinkLog(msgspec.Struct, frozen=True, kw_only=True):
    """Which batches a file sink has written."""

    entries: tuple[BatchId, ...]
    """Numbers of the log's plain files, lowest first."""
    compacts: tuple[BatchId, ...]
    """Numbers of the files that hold everything up to them, lowest first."""

    @property
    def newest(self) -> BatchId | None:
        """The newest batch that the output holds; None when there is none."""
        return max((*self.entries, *self.compacts), default=None)


_DECODER = msgspec.json.Decoder(SinkEntry)


def parse_sink_log(path: str, chunks: Iterator[bytes]) -> Iterator[SinkEntry | Unparsed]:
    """Yield the entries of one file of the sink's log, in constant memory."""
    return parse_entries(path, chunks, _DECODER.decode)


def read_sink_log(reader: Reader) -> SinkLog | None:
    """Read which batches an output directory holds; None when no file sink wrote it.

    Raises:
        ReadError: The directory cannot be listed.
    """
    if DIRECTORY not in reader.list().directories:
        return None
    names = [parse_name(info.path) for info in reader.list(DIRECTORY).files]

    def numbers(kind: Kind) -> tuple[BatchId, ...]:
        found = (name.batch_id for name in names if name.kind is kind)
        return tuple(sorted(number for number in found if number is not None))

    return SinkLog(entries=numbers(Kind.ENTRY), compacts=numbers(Kind.COMPACT))

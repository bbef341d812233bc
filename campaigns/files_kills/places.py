"""Where a stream writes its files, as plain readers and the ledger are asked there."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow.parquet as pq

import holdfast as hf
from campaigns.files_kills.readers import READERS
from holdfast.drills.history import Row
from holdfast.ledger.row import LedgerRow
from holdfast.sinks.files.directory import Directory
from holdfast.storage.location import parse_location
from holdfast.storage.webhdfs import WebHdfsReader
from lab.cluster import Cluster
from lab.hdfs import Hdfs

STREAM, OUT = "readings", "out"


class Place(Protocol):
    """A directory that has the output of a stream, and its root."""

    @property
    def location(self) -> str:
        """As the stream is given it."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Of Spark, to reach it."""

    def row(self, kind: str) -> LedgerRow | None:
        """Return the ledger row of the stream; None without one."""

    def readers(self, kind: str) -> Mapping[str, Callable[[], list[Row]]]:
        """Return what reads files of a format there, by name."""


@dataclass(frozen=True, slots=True)
class OnDisk:
    """On a disk."""

    home: Path

    @property
    def location(self) -> str:
        """Its path."""
        return str(self.home)

    @property
    def settings(self) -> Mapping[str, str]:
        """None."""
        return {}

    def row(self, kind: str) -> LedgerRow | None:
        """Return the ledger row of the stream."""
        ledger = hf.Files(str(self.home / OUT), format=kind).open_ledger()
        assert ledger is not None
        return _known(ledger.read(STREAM))

    def readers(self, kind: str) -> Mapping[str, Callable[[], list[Row]]]:
        """Return what reads files of a format there."""
        return {
            name: lambda read=read: read(self.home / OUT)  # type: ignore[misc]
            for name, read in READERS[kind].items()
        }


class OverHttp(WebHdfsReader):
    """HDFS without a JVM, as far as the ledger of a directory is read."""

    def is_directory(self, path: str) -> bool:
        """Return whether a directory has this path."""
        above, _, name = path.rpartition("/")
        return name in self.list(above).directories


class OnHdfs:
    """On HDFS: written through Spark's session, and read over HTTP."""

    def __init__(self, server: Hdfs, cluster: Cluster | None = None) -> None:
        """Take a new place there, for drivers with executors of a cluster or without."""
        self._server = server
        self._cluster = cluster
        self._path = uuid.uuid4().hex

    @property
    def location(self) -> str:
        """Its URL."""
        return f"{self._server.address}/{self._path}"

    @property
    def settings(self) -> Mapping[str, str]:
        """Return those of HDFS, and of the executors."""
        found = self._server.spark_settings()
        return found if self._cluster is None else found | self._cluster.settings(executors={})

    def row(self, kind: str) -> LedgerRow | None:
        """Return the ledger row of the stream."""
        del kind
        reader: Any = self._reader()
        state = Directory(reader, OUT).read(STREAM)
        return None if state is None else state.row

    def readers(self, kind: str) -> Mapping[str, Callable[[], list[Row]]]:
        """Return what reads Parquet at every depth, also below hidden names."""
        assert kind == "parquet"
        return {"glob over WebHDFS": self._read_all}

    def _reader(self) -> OverHttp:
        return OverHttp(parse_location(f"{self._server.web_address}/{self._path}"))

    def _read_all(self) -> list[Row]:
        reader = self._reader()
        found = sorted(each.path for each in reader.walk(OUT) if each.path.endswith(".parquet"))
        tables = (pq.read_table(io.BytesIO(reader.read(path) or b"")) for path in found)
        return [(each,) for table in tables for each in table.column("id").to_pylist()]


def _known(found: object) -> LedgerRow | None:
    return found if isinstance(found, LedgerRow) else None

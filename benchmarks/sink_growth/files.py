"""Files, on a disk and on HDFS: history is directories, each of them one batch of one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

import holdfast as hf
from benchmarks.sink_growth.growing import STREAM, GrowingSink
from benchmarks.sink_growth.without_spark import VALUES, WithoutSpark
from holdfast.sinks.files import target, writer
from holdfast.sinks.files.sink import Files
from holdfast.sinks.session import mover_of
from holdfast.storage.location import parse_location
from holdfast.storage.moving import Mover
from lab.hdfs import Hdfs
from lab.spark import environment

_SCHEMA = StructType([StructField("id", LongType()), StructField("name", StringType())])
_LINES = "".join(f'{{"id":{number},"name":"{name}"}}\n' for number, name in VALUES).encode()
_FILE = "part-0.json"


def _stage(batch: Any, sink: Files, where: str) -> None:
    """Write one file in the place of Spark."""
    del sink
    batch.put(where)


class InFiles(WithoutSpark):
    """A directory on a disk, beside one into which bare renames go."""

    def __init__(self, home: Path | str) -> None:
        """Use one directory for the stream, and another for the bare renames."""
        self._home = home
        self._bare = 0
        sink = hf.Files(f"{home}/{STREAM}", format="json")
        super().__init__(sink, _SCHEMA, pa.table({"id": pa.array([], pa.int64())}))

    def batch(self) -> Any:
        """Return a batch that can write its file."""
        batch = super().batch()
        batch.put = self.put
        return batch

    def bare(self) -> None:
        """Make a directory with one file, have it on disk, and rename it."""
        self._bare += 1
        self.rename_one(self._bare)

    def put(self, where: str) -> None:
        """Write the file of a batch into a new directory."""
        Path(where).mkdir(parents=True)
        Path(where, _FILE).write_bytes(_LINES)

    def rename_one(self, number: int) -> None:
        """Make a directory with one file on disk, and rename it."""
        published = Path(self._home, "bare")
        published.mkdir(exist_ok=True)
        staged = Path(self._home, f"staged-{number}")
        staged.mkdir()
        with (staged / _FILE).open("wb") as file:
            file.write(_LINES)
            file.flush()
            os.fsync(file.fileno())
        staged.rename(published / str(number))

    def grow(self, size: int) -> None:
        """Publish batches until there are so many; only those that are measured wait for a disk."""
        with patch.object(os, "fsync", lambda _: None):
            super().grow(size)
            while self._bare < size:
                self.bare()


class OnHdfs(InFiles):
    """The same on HDFS, by the client of a session."""

    def __init__(self, home: str, mover: Mover) -> None:
        """Use directories below one that the mover has."""
        self._mover = mover
        mover.make_directory("bare")
        super().__init__(home)

    def put(self, where: str) -> None:
        """Write the file of a batch into a new directory."""
        below = str(parse_location(where)).removeprefix(f"{self._home}/")
        self._mover.put(f"{below}/{_FILE}", _LINES)

    def rename_one(self, number: int) -> None:
        """Make a directory with one file, and rename it."""
        self._mover.put(f"staged-{number}/{_FILE}", _LINES)
        self._mover.move(f"staged-{number}", f"bare/{number}")


@contextmanager
def _written_here() -> Iterator[None]:
    with (
        patch.object(writer, "stage", _stage),
        patch.object(target, "_check_session", lambda *_: None),  # there is none
    ):
        yield


@contextmanager
def files(directory: Path) -> Iterator[GrowingSink]:
    """Give a directory of JSON files."""
    with _written_here():
        yield InFiles(directory)


@contextmanager
def hdfs(directory: Path) -> Iterator[GrowingSink]:
    """Give one on a real HDFS with one DataNode."""
    with Hdfs() as server, _written_here():
        os.environ.update(environment(directory, server.spark_settings(), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        home = f"{server.address}/lake"
        yield OnHdfs(home, mover_of(spark, parse_location(home)))
        spark.stop()

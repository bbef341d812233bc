"""Changing files through the session's own Hadoop FileSystem.

A file is written under a hidden name, synced, and given its name by a rename that does not
overwrite, as Spark's own `CheckpointFileManager` does. Where that rename is one step, of two
writers one creates the file. It is on HDFS, and only there is anything written: a rename that
copies would give two drivers the same lease.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError, WriteError
from holdfast.spark.classic.hadoop_files import HadoopReader, class_of
from holdfast.spark.classic.jvm import Java, jvm_of, new_array
from holdfast.spark.errors import spark_errors
from holdfast.storage.half_made import temp_name
from holdfast.storage.location import Location
from holdfast.storage.read import Reader, read_chunks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RENAMES_IN_ONE_STEP = "org.apache.hadoop.hdfs.DistributedFileSystem"
"""The class on which the storage contract and races of two writers were run.

Not the scheme: that of a view can lead to any other store, where a rename may be a copy.
"""
TAKEN = "org.apache.hadoop.fs.FileAlreadyExistsException"
_GONE = "java.io.FileNotFoundException"


class HadoopWriter(HadoopReader):
    """Reads and changes below a directory of a Hadoop file system."""

    def __init__(self, location: Location, spark: SparkSession) -> None:
        """Write below a location, with the settings of a session.

        Raises:
            ConfigError: It is not known whether this file system renames in one step.
            ReadError: The session has no such file system.
        """
        super().__init__(location, spark)
        found = str(self._files.getClass().getName())
        if found != RENAMES_IN_ONE_STEP:
            raise ConfigError(
                f"{location}: it is not tested whether {found} creates a file for one of two "
                "writers only, so a guarded stream cannot use it. Use a root on hdfs://, s3://, "
                "abfss://, gs:// or a disk."
            )
        hadoop = jvm_of(spark).org.apache.hadoop.fs
        kinds = hadoop.Options.Rename
        self._once, self._over = (new_array(spark, kinds, 1) for _ in range(2))
        self._once[0], self._over[0] = kinds.NONE, kinds.OVERWRITE
        with self._asking(WriteError, ""):
            self._context = hadoop.FileContext.getFileContext(self._files.getUri(), self._settings)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; return False, and change nothing, when one is there."""
        with self._asking(WriteError, path), self._hidden(path, _writes(data)) as hidden:
            try:
                self._context.rename(hidden, self._path(path), self._once)
            except spark_errors() as error:
                # A rename that was sent again after it was done finds its file gone: whoever
                # asked compares what is there with what it wrote.
                if class_of(error) not in (TAKEN, _GONE):
                    raise
                return False
        return True

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        with self._asking(WriteError, path), self._hidden(path, _writes(data)) as hidden:
            try:
                self._context.rename(hidden, self._path(path), self._over)
            except spark_errors() as error:
                if class_of(error) != _GONE or self.read(path) != data:  # as above
                    raise

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error."""
        with self._asking(WriteError, path):
            self._files.delete(self._path(path), False)

    def remove_empty_directories(self) -> None:
        """Remove the directories below the location that hold no file, also not further down."""
        for entry in self.entries(""):
            if entry.is_directory:
                self._remove_if_empty(entry.info.path)

    def _remove_if_empty(self, directory: str) -> bool:
        """Remove a directory without files, and those in it; return whether it is gone."""
        left = [
            entry
            for entry in self.entries(directory)
            if not entry.is_directory or not self._remove_if_empty(entry.info.path)
        ]
        if not left:
            self.delete(directory)
        return not left

    def copy(self, source: str, target: str) -> None:
        """Copy a file to another path below the same location, replacing what is there."""
        self.copy_from(self, source, to=target)

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        """Copy a file of another reader to a path here, replacing what is there.

        From a Hadoop file system, the bytes stay in the driver's JVM.
        """
        if source.stat(path) is None:
            where = str(self.location.join(to))
            raise WriteError(where, why=f"There is no {path} to copy.", how="List it first.")

        def fill(stream: Java) -> None:
            if isinstance(source, HadoopReader):
                source.pour(path, stream)
                return
            for chunk in read_chunks(source, path):
                stream.write(chunk)

        with self._asking(WriteError, to), self._hidden(to, fill) as hidden:
            self._context.rename(hidden, self._path(to), self._over)

    @contextmanager
    def _hidden(self, path: str, fill: Callable[[Java], object]) -> Iterator[Java]:
        """Write a file under another name in the same directory; remove what is left of it."""
        hidden = self._path(posixpath.join(posixpath.dirname(path), temp_name()))
        try:
            stream = self._files.create(hidden, False)
            try:
                fill(stream)
                stream.hsync()
            finally:
                stream.close()
            yield hidden
        finally:
            with suppress(*spark_errors()):
                self._files.delete(hidden, False)


def _writes(data: bytes) -> Callable[[Java], object]:
    return lambda stream: stream.write(data)

"""Changing files through the session's own Hadoop FileSystem.

A file is written under a hidden name, synced, and given its name by a rename that does not
overwrite, as Spark's own `CheckpointFileManager` does. Where that rename is one step, of two
writers one creates the file. It is on HDFS, and only there is anything written: a rename that
copies would give two drivers the same lease.
"""

from __future__ import annotations

import posixpath
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from holdfast.errors import ConfigError, WriteError
from holdfast.spark.errors import spark_errors
from holdfast.spark.hadoop_files import HadoopReader, class_of
from holdfast.storage.location import Location

RENAMES_IN_ONE_STEP = "org.apache.hadoop.hdfs.DistributedFileSystem"
"""The class on which the storage contract and races of two writers were run.

Not the scheme: that of a view can lead to any other store, where a rename may be a copy.
"""
_TAKEN = "org.apache.hadoop.fs.FileAlreadyExistsException"
_GONE = "java.io.FileNotFoundException"


class HadoopWriter(HadoopReader):
    """Reads and changes below a directory of a Hadoop file system."""

    def __init__(self, location: Location, spark: Any) -> None:
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
        kinds = self._jvm.org.apache.hadoop.fs.Options.Rename
        self._once, self._over = (self._gateway.new_array(kinds, 1) for _ in range(2))
        self._once[0], self._over[0] = kinds.NONE, kinds.OVERWRITE
        context = self._jvm.org.apache.hadoop.fs.FileContext
        with self._asking(WriteError, ""):
            self._context = context.getFileContext(self._files.getUri(), self._settings)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; return False, and change nothing, when one is there."""
        with self._asking(WriteError, path), self._hidden(path, data) as hidden:
            try:
                self._context.rename(hidden, self._path(path), self._once)
            except spark_errors() as error:
                # A rename that was sent again after it was done finds its file gone: whoever
                # asked compares what is there with what it wrote.
                if class_of(error) not in (_TAKEN, _GONE):
                    raise
                return False
        return True

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        with self._asking(WriteError, path), self._hidden(path, data) as hidden:
            try:
                self._context.rename(hidden, self._path(path), self._over)
            except spark_errors() as error:
                if class_of(error) != _GONE or self.read(path) != data:  # as above
                    raise

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error."""
        with self._asking(WriteError, path):
            self._files.delete(self._path(path), False)

    def copy(self, source: str, target: str) -> None:
        """Copy a file to another path below the same location, replacing what is there."""
        data = self.read(source)
        if data is None:
            where = str(self.location.join(target))
            raise WriteError(where, why=f"There is no {source} to copy.", how="List it first.")
        self.put(target, data)

    @contextmanager
    def _hidden(self, path: str, data: bytes) -> Iterator[Any]:
        """Write a file under another name in the same directory; remove what is left of it."""
        name = posixpath.join(posixpath.dirname(path), f".holdfast-{uuid.uuid4().hex}.tmp")
        hidden = self._path(name)
        try:
            stream = self._files.create(hidden, False)
            try:
                stream.write(data)
                stream.hsync()
            finally:
                stream.close()
            yield hidden
        finally:
            with suppress(*spark_errors()):
                self._files.delete(hidden, False)

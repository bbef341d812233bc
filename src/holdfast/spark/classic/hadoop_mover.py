"""Moving directories through the session's own Hadoop FileSystem.

HDFS renames a directory in one step of its NameNode, which nothing else comes in between of.
"""

from __future__ import annotations

from holdfast.errors import ReadError, WriteError
from holdfast.spark.classic.hadoop_files import class_of
from holdfast.spark.classic.hadoop_writer import RENAME_REFUSED, HadoopWriter
from holdfast.spark.errors import spark_errors


class HadoopMover(HadoopWriter):
    """Reads, changes and moves below a directory of HDFS."""

    def move(self, source: str, target: str) -> bool:
        """Give a file or a directory another path, with all that is in it."""
        with self._asking(WriteError, target):
            try:
                self._context.rename(self._path(source), self._path(target), self._once)
            except spark_errors() as error:
                if class_of(error) in RENAME_REFUSED:
                    return False
                raise
        return True

    def make_directory(self, path: str) -> None:
        """Create a directory and those above it; one that is there is no error."""
        with self._asking(WriteError, path):
            self._files.mkdirs(self._path(path))

    def is_directory(self, path: str) -> bool:
        """Return whether a directory has this path."""
        with self._asking(ReadError, path):
            return bool(self._files.isDirectory(self._path(path)))

    def delete_tree(self, path: str) -> None:
        """Delete a directory with all that is in it; one that is not there is no error."""
        with self._asking(WriteError, path):
            self._files.delete(self._path(path), True)

    def sync_tree(self, path: str) -> None:
        """Do nothing: a file that HDFS has closed is at its DataNodes."""

"""Moving directories through the session's own Hadoop FileSystem.

A rename of HDFS is one step of the NameNode, which refuses a name that is taken, also by an empty
directory, and a parent that is not there. A rename that is sent again, after it was done and its
answer was lost, finds no source: it is refused too, and whoever asked looks at what is there.
"""

from __future__ import annotations

from holdfast.errors import ReadError, WriteError
from holdfast.spark.classic.hadoop_files import UnlessAbsent, class_of, said_by
from holdfast.spark.classic.hadoop_writer import TAKEN, HadoopWriter
from holdfast.spark.errors import spark_errors

_OTHER_KIND = " must both be directories"
"""HDFS has no class of error for a directory that would get the name of a file."""


class HadoopMover(HadoopWriter):
    """Reads, changes and moves below a directory of a Hadoop file system."""

    def move(self, source: str, target: str) -> bool:
        """Give a file or a directory another path, with all that is in it."""
        old, new = self._path(source), self._path(target)
        with self._asking(WriteError, target), UnlessAbsent():
            try:
                self._context.rename(old, new, self._once)
            except spark_errors() as error:
                said = said_by(error).partition("\n")[0]
                if class_of(error) != TAKEN and not said.endswith(_OTHER_KIND):
                    raise
                return False
            return True
        return False

    def make_directory(self, path: str) -> None:
        """Create a directory and those above it; one that is there is no error."""
        with self._asking(WriteError, path):
            self._files.mkdirs(self._path(path))

    def is_directory(self, path: str) -> bool:
        """Return whether a directory has this path."""
        with self._asking(ReadError, path), UnlessAbsent():
            return bool(self._files.getFileStatus(self._path(path)).isDirectory())
        return False

    def delete_tree(self, path: str) -> None:
        """Delete a directory with all that is in it; one that is not there is no error."""
        with self._asking(WriteError, path), UnlessAbsent():
            self._files.delete(self._path(path), True)

    def sync_tree(self, path: str) -> None:
        """Do nothing: a file that was closed is on its DataNodes, and names are in their journal.

        Whether DataNodes wait for their own disks is a setting of theirs.
        """
        del path

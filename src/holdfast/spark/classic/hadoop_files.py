"""Reading through the session's own Hadoop FileSystem: as Spark reaches a store, with its settings.

Kerberos tickets, delegation tokens, nameservices and view file systems are the cluster's own: all
of it is asked through the driver's JVM. A listing is one call, whatever it holds: a call per field
would cost a millisecond each. Classes are looked up once: py4j asks the JVM for every part of a
name, so that `org.apache.hadoop.fs.Path` is five calls.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.errors import ReadError, WriteError
from holdfast.printable import printable
from holdfast.spark.classic.jvm import Java, jvm_of
from holdfast.spark.errors import spark_errors
from holdfast.storage.directories import DirectoryReader, Entry
from holdfast.storage.location import Location, spark_location
from holdfast.storage.read import FileInfo, moment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ABSENT = {
    "java.io.FileNotFoundException",
    "org.apache.hadoop.fs.ParentNotDirectoryException",
    "org.apache.hadoop.fs.PathIsNotDirectoryException",
}
_BELOW_A_FILE = "is not a directory"
"""HDFS answers with an error of access, whose text has these words, when a parent is a file."""
_MOST, _BUFFER = 2**62, 65_536
# As `FileStatus.toString` has it since Hadoop 2.8; only a file has a length.
_MARK = "; isDirectory="
_STATUS = re.compile(
    r"\{path=(.*?); isDirectory=(true|false);"
    r"(?: length=(\d+); replication=\d+; blocksize=\d+;)? modification_time=(\d+);",
    re.DOTALL,
)


class HadoopReader(DirectoryReader):
    """Reads below a directory of a Hadoop file system."""

    def __init__(self, location: Location, spark: SparkSession) -> None:
        """Read below a location, with the settings of a session.

        Raises:
            ReadError: The session has no such file system.
        """
        super().__init__(location)
        jvm = jvm_of(spark)
        self._hadoop_path = jvm.org.apache.hadoop.fs.Path
        self._limited = jvm.org.apache.hadoop.util.LimitInputStream
        self._copy_bytes = jvm.org.apache.hadoop.io.IOUtils.copyBytes
        self._bytes_of = jvm.java.io.ByteArrayOutputStream
        self._text_of = jvm.org.apache.commons.lang3.ArrayUtils.toString
        self._settings = spark._jsparkSession.sessionState().newHadoopConf()
        with self._asking(ReadError, ""):
            self._files = self._path("").getFileSystem(self._settings)

    def entries(self, directory: str) -> list[Entry]:
        """Return what is directly in a directory; nothing when there is none."""
        with self._asking(ReadError, directory), UnlessAbsent():
            statuses = self._files.listStatus(self._path(directory))
            if len(statuses) == 1 and self.stat(directory) is not None:
                return []  # a file lists itself
            return [
                Entry(
                    info=_info(
                        posixpath.join(directory, path.rsplit("/", 1)[-1]), length, modified
                    ),
                    is_directory=is_directory,
                )
                for path, is_directory, length, modified in self._fields(statuses)
            ]
        return []

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        with self._asking(ReadError, path), UnlessAbsent():
            found = self._files.getFileStatus(self._path(path))
            if not found.isDirectory():
                return _info(path, int(found.getLen()), int(found.getModificationTime()))
        return None

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        with self._asking(ReadError, path), UnlessAbsent():
            if start:
                found = self.stat(path)
                if found is None:
                    return None
                if start >= found.size_bytes:
                    return b""  # HDFS does not seek beyond the end
            stream = self._files.open(self._path(path))
            try:
                if start:
                    stream.seek(start)
                # Not `readAllBytes`: Spark 3.5 runs on Java 8 too.
                data = self._bytes_of()
                part = self._limited(stream, _MOST if length is None else length)
                self._copy_bytes(part, data, _BUFFER, False)
            finally:
                stream.close()
            return bytes(data.toByteArray())
        return None

    def pour(self, path: str, stream: Java) -> None:
        """Write a whole file into a Java stream, within the driver's JVM.

        Raises:
            ReadError: There is no such file, or Hadoop did not let us read it.
        """
        with self._asking(ReadError, path):
            file = self._files.open(self._path(path))
            try:
                self._copy_bytes(file, stream, _BUFFER, False)
            finally:
                file.close()

    def _fields(self, statuses: Java) -> list[tuple[str, bool, int, int]]:
        """Return path, whether it is a directory, length and time of every status."""
        text = str(self._text_of(statuses))
        found = _STATUS.findall(text)
        # A name may hold anything, even the form of a status: then each is asked on its own.
        is_plain = len(found) == len(statuses) == text.count(_MARK)
        if is_plain and all("/" in each[0] for each in found):
            return [
                (path, is_directory == "true", int(length or 0), int(modified))
                for path, is_directory, length, modified in found
            ]
        return [
            (
                str(each.getPath().toString()),
                bool(each.isDirectory()),
                int(each.getLen()),
                int(each.getModificationTime()),
            )
            for each in statuses
        ]

    def _path(self, path: str) -> Java:
        scheme, _, rest = spark_location(self.location).partition("://")
        authority, _, below = rest.partition("/")
        full = posixpath.join("/", below, path).rstrip("/") or "/"
        return self._hadoop_path(scheme, authority or None, full)

    @contextmanager
    def _asking(self, kind: type[ReadError | WriteError], path: str) -> Iterator[None]:
        try:
            yield
        except spark_errors() as error:
            where = str(self.location.join(path) if path else self.location)
            said = printable(said_by(error).splitlines()[0])
            how = "Look whether Spark itself can read it with this session."
            raise kind(where, why=f"Hadoop answered: {said}", how=how) from error


class UnlessAbsent:
    """Lets pass that a file or a directory is not there, and no other error."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> bool:
        """Return whether the error says that nothing is there."""
        name = class_of(error)
        is_below_a_file = name.endswith(".AccessControlException") and _BELOW_A_FILE in said_by(
            error
        )
        return name in _ABSENT or is_below_a_file


def class_of(error: object) -> str:
    """Return the name of the Java class of an error; empty for one that is not of the JVM.

    What an error says may quote another one, or a path with its name.
    """
    java = getattr(error, "java_exception", None)
    return "" if java is None else str(java.getClass().getName())


def said_by(error: object) -> str:
    """Return what the JVM said, or the name of the error that came instead."""
    java = getattr(error, "java_exception", None)
    return str(java.toString()) if java is not None else f"{type(error).__name__}: {error}"


def _info(path: str, size: int, modified_ms: int) -> FileInfo:
    return FileInfo(path=path, size_bytes=size, modified=moment(modified_ms / 1000))

"""Reading HDFS over HTTP: no JVM and no Hadoop client, only the NameNode's web address.

`webhdfs://namenode:9870/streams/…`, and `swebhdfs://` over TLS; HttpFS answers the same requests.
Who asks is `HADOOP_USER_NAME`, or a delegation token in `HOLDFAST_HDFS_TOKEN`. A cluster with
Kerberos gives such a token (`hdfs fetchdt`); SPNEGO itself is not spoken here.
"""

from __future__ import annotations

import getpass
import os
import posixpath
from collections.abc import Mapping
from http.client import HTTPException
from typing import NoReturn, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

from holdfast.errors import LocationError, ReadError
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.storage.directories import DirectoryReader, Entry
from holdfast.storage.location import Location
from holdfast.storage.read import FileInfo, moment

TOKEN = "HOLDFAST_HDFS_TOKEN"  # noqa: S105 - the name of a variable
_SECONDS = 60
_ABSENT = {"FileNotFoundException", "ParentNotDirectoryException"}
_NO_ACCESS, _NO_DIRECTORY = "AccessControlException", "is not a directory"
"""So HDFS answers when a parent is a file."""
_ASK = f"Check the web address of the NameNode, and the account or {TOKEN}."
_ADVICE = {
    "StandbyException": "Ask the other NameNode: this one is on standby.",
    "AccessControlException": "Give the account the right to read there, or set HADOOP_USER_NAME.",
    "InvalidToken": f"Put a new delegation token into {TOKEN}.",
    "401": f"This cluster uses Kerberos: put a delegation token into {TOKEN}.",
}
"""By the exception of HDFS, or the status of an answer without one."""
_OPENER = build_opener(ProxyHandler({}))
"""A proxy would see the token; clusters are asked directly."""


_T = TypeVar("_T")


class _Status(msgspec.Struct, frozen=True):
    name: str = msgspec.field(name="pathSuffix")
    type: str
    length: int
    modified_ms: int = msgspec.field(name="modificationTime")
    file_id: int = msgspec.field(name="fileId", default=0)


class _StatusAnswer(msgspec.Struct, frozen=True):
    status: _Status = msgspec.field(name="FileStatus")


class _Statuses(msgspec.Struct, frozen=True):
    statuses: list[_Status] = msgspec.field(name="FileStatus")


class _Partial(msgspec.Struct, frozen=True):
    of: _Statuses = msgspec.field(name="FileStatuses")


class _Listing(msgspec.Struct, frozen=True):
    partial: _Partial = msgspec.field(name="partialListing")
    remaining: int = msgspec.field(name="remainingEntries")


class _ListingAnswer(msgspec.Struct, frozen=True):
    listing: _Listing = msgspec.field(name="DirectoryListing")


class _Exception(msgspec.Struct, frozen=True):
    exception: str = ""
    message: str = ""


class _ExceptionAnswer(msgspec.Struct, frozen=True):
    exception: _Exception = msgspec.field(name="RemoteException")


class WebHdfsReader(DirectoryReader):
    """Reads below a directory of HDFS."""

    def __init__(self, location: Location) -> None:
        """Read below a location; nothing is asked yet."""
        super().__init__(location)
        transport, port = ("https", 9871) if location.scheme == "swebhdfs" else ("http", 9870)
        address = location.bucket if ":" in location.bucket else f"{location.bucket}:{port}"
        self._address, self._base = address, f"{transport}://{address}/webhdfs/v1/"

    def entries(self, directory: str) -> list[Entry]:
        """Return what is directly in a directory, page by page as the NameNode gives it."""
        found: list[Entry] = []
        after: dict[str, str] = {}
        while True:
            raw = self._get(directory, op="LISTSTATUS_BATCH", **after)
            if raw is None:
                return []
            listing = self._parsed(directory, raw, _ListingAnswer).listing
            statuses = listing.partial.of.statuses
            # A file lists itself, without a name.
            named = [each for each in statuses if each.name]
            found += [_entry(posixpath.join(directory, each.name), each) for each in named]
            if not listing.remaining or not named:
                return found
            after = {"startAfter": named[-1].name}

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        raw = self._get(path, op="GETFILESTATUS")
        if raw is None:
            return None
        entry = _entry(path, self._parsed(path, raw, _StatusAnswer).status)
        return None if entry.is_directory else entry.info

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        if start or length is not None:
            found = self.stat(path)
            if found is None:
                return None
            if start >= found.size_bytes or length == 0:
                return b""  # the server answers an offset beyond the end with an error
        part = {} if length is None else {"length": str(length)}
        found_bytes = self._get(path, op="OPEN", offset=str(start), **part)
        return None if found_bytes is None else found_bytes[:length]

    def _get(self, path: str, **asked: str) -> bytes | None:
        full = posixpath.join(self.location.path, path) if path else self.location.path
        try:
            url = f"{self._base}{quote(full, safe='/')}?{urlencode({**asked, **_who()})}"
            # The NameNode answers OPEN with the address of a DataNode, which is followed.
            with _OPENER.open(Request(url), timeout=_SECONDS) as answer:  # noqa: S310 - http(s)
                content: bytes = answer.read()
                return content
        except HTTPError as error:
            said = _remote_exception(error.read())
            message = said.message or str(error.reason)
            is_below_a_file = said.exception == _NO_ACCESS and _NO_DIRECTORY in message
            if said.exception in _ABSENT or is_below_a_file:
                return None
            how = _ADVICE.get(said.exception) or _ADVICE.get(str(error.code)) or _ASK
            raise self._error(path, f"HDFS answered: {message}", how=how) from None
        except (HTTPException, OSError, ValueError) as error:
            why = getattr(error, "reason", error) or type(error).__name__
            why = f"Nothing answers at {self._address}: {why}"
            raise self._error(path, why, how="Check the web address of the NameNode.") from None

    def _parsed(self, path: str, raw: bytes, kind: type[_T]) -> _T:
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            how = "Check the web address of the NameNode."
            raise self._error(path, f"The answer is not WebHDFS: {error}", how=how) from None

    def _error(self, path: str, why: str, *, how: str) -> ReadError:
        # Not as a cause: it quotes the address, with the token in it.
        where = str(self.location.join(path) if path else self.location)
        first = printable(redact(why.strip().splitlines()[0]))
        return ReadError(where, why=first, how=how)


def _who() -> dict[str, str]:
    token = os.environ.get(TOKEN)
    if token:
        return {"delegation": token}
    try:
        return {"user.name": os.environ.get("HADOOP_USER_NAME") or getpass.getuser()}
    except (KeyError, OSError):  # an account without a name, as containers have
        return {}


def _remote_exception(body: bytes) -> _Exception:
    try:
        return msgspec.json.decode(body, type=_ExceptionAnswer).exception
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Exception()


def _entry(path: str, found: _Status) -> Entry:
    etag = f"{found.file_id}-{found.modified_ms}-{found.length}"
    modified = moment(found.modified_ms / 1000)
    info = FileInfo(path=path, size_bytes=found.length, modified=modified, etag=etag)
    return Entry(info=info, is_directory=found.type == "DIRECTORY")


def open_web_reader(place: Location, options: Mapping[str, str] | None) -> WebHdfsReader:
    """Return a reader of a directory of HDFS."""
    del options
    return WebHdfsReader(place)


def refuse_writing(place: Location, options: Mapping[str, str] | None) -> NoReturn:
    """Name the address that can be written to.

    Raises:
        LocationError: Always.
    """
    del options
    raise LocationError(
        str(place),
        why=f"{place.scheme}:// is for reading only.",
        how="A root is the same directory as hdfs://namenode:8020/…. To accept a finding, "
        "start the stream with HOLDFAST_ACCEPT in the driver's environment.",
    )

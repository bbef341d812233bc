"""Locations: what people write for a directory, brought to one form. No I/O.

Hadoop's spellings are understood (`s3a://`, `file:/`, `abfss://container@account…`): that is how
Spark's users know their checkpoints. Nothing is percent-decoded: Hadoop does not either.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.errors import CredentialsInLocationError, LocationError
from holdfast.redact import has_credentials

Scheme = Literal["file", "s3", "gs", "az", "memory"]

_SCHEMES: dict[str, Scheme] = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "adl": "az",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
    "wasb": "az",
    "wasbs": "az",
    "memory": "memory",
}
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)", re.DOTALL)
_AT_ACCOUNT = re.compile(r"(?P<container>[^@/]+)@(?P<account>[^./]+)\.[^/]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A directory: on this machine's disk, or below a prefix of a bucket."""

    scheme: Scheme
    bucket: str = ""
    """The bucket, or Azure's `container@account`; empty on disk."""
    path: str = ""
    """Absolute on disk; without slashes at its ends in a bucket."""

    def __str__(self) -> str:
        if self.scheme == "file":
            return self.path
        return f"{self.scheme}://{self.bucket}" + (f"/{self.path}" if self.path else "")

    @property
    def name(self) -> str:
        """The last part of the path, or the bucket."""
        return posixpath.basename(self.path) or self.bucket

    @property
    def parent(self) -> Location | None:
        """The directory that this one is in; None for a bucket or the root of a disk."""
        above = posixpath.dirname(self.path)
        if above == self.path:
            return None
        return Location(scheme=self.scheme, bucket=self.bucket, path=above)

    def join(self, *parts: str) -> Location:
        """Return the location of something below this one."""
        path = posixpath.join(self.path, *parts) if self.path else posixpath.join(*parts)
        return Location(scheme=self.scheme, bucket=self.bucket, path=path)


def is_inside(inner: Location, outer: Location) -> bool:
    """Return whether a location is another one, or lies below it; links are not followed."""
    same_store = (inner.scheme, inner.bucket) == (outer.scheme, outer.bucket)
    above = f"{outer.path}/" if outer.path.strip("/") else outer.path
    return same_store and f"{inner.path}/".startswith(above)


def spark_location(location: Location) -> str:
    """Return a location as Spark's file systems know it: S3 is `s3a://` there."""
    text = str(location)
    return f"s3a{text.removeprefix('s3')}" if location.scheme == "s3" else text


def parse_location(text: str) -> Location:
    """Return the location that a path or URL means; two spellings of one place are equal.

    Raises:
        LocationError: The text is empty, or of a scheme Holdfast cannot read.
        CredentialsInLocationError: It holds a user, a password or a query string.
    """
    if not text.strip():
        raise LocationError(text, why="The location is empty.")
    refuse_credentials(text)
    matched = _URL.fullmatch(text)
    if matched is None:
        return Location(scheme="file", path=_absolute(text))
    scheme = _SCHEMES.get(matched["scheme"].lower())
    if scheme is None:
        raise LocationError(text, why=f"There is no reader for {matched['scheme']}: locations.")
    if scheme == "file":
        return Location(scheme="file", path=_absolute("/" + matched["rest"].lstrip("/")))
    return _in_bucket(text, scheme, matched["rest"])


def refuse_credentials(text: str) -> None:
    """Refuse a path, URL or name that holds credentials.

    Raises:
        CredentialsInLocationError: It holds a user, a password or a query string.
    """
    if has_credentials(text):
        raise CredentialsInLocationError(text)


def _in_bucket(text: str, scheme: Scheme, rest: str) -> Location:
    authority, _, key = rest.removeprefix("//").partition("/")
    if not rest.startswith("//") or not authority:
        raise LocationError(text, why="There is no bucket between // and the next /.")
    parts = [part for part in key.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise LocationError(text, why="Its path has a '..', which a bucket takes literally.")
    matched = _AT_ACCOUNT.fullmatch(authority)
    bucket = f"{matched['container']}@{matched['account']}" if matched else authority
    return Location(scheme=scheme, bucket=bucket, path="/".join(parts))


def _absolute(path: str) -> str:
    return posixpath.normpath(str(Path(path).absolute()))

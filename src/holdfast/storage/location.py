"""Locations: what people write for a directory, brought to one form. No I/O.

Hadoop's spellings are understood (`s3a://`, `file:/`, `abfss://container@account…`): that is how
Spark's users know their checkpoints. Nothing is percent-decoded: Hadoop does not either.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.errors import CredentialsInLocationError, LocationError
from holdfast.redact import has_credentials, redact_location
from holdfast.storage.schemes import SCHEMES, Scheme, find_scheme

LOCAL = "file"
"""The scheme of a path without one."""
_VOLUMES = "Use the store itself: s3://, abfss:// or gs://."
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A directory: on this machine's disk, or below a prefix of a bucket."""

    scheme: str
    """By which its row is found in `holdfast.storage.schemes`."""
    bucket: str = ""
    """The bucket; Azure's `container@account`, or `container@account.cloud` in other clouds than
    the public one; HDFS's `host:port`; empty on disk, and for the file system of a session."""
    path: str = ""
    """Absolute on disk; without slashes at its ends elsewhere."""
    spelt: str = field(default="", compare=False)
    """The scheme as it was written, where Spark's settings may be for that one: `wasbs`."""

    def __str__(self) -> str:
        if self.is_local:
            return self.path
        path = f"/{self.path}" if self.path else ""
        url = self.kind.url
        return f"{url(self.bucket) if url else f'{self.scheme}://{self.bucket}'}{path}"

    @property
    def kind(self) -> Scheme:
        """What its scheme decides."""
        return SCHEMES[self.scheme]

    @property
    def is_local(self) -> bool:
        """Whether it is on a disk of this machine."""
        return self.kind.is_local

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
        return replace(self, path=above)

    def join(self, *parts: str) -> Location:
        """Return the location of something below this one."""
        path = posixpath.join(self.path, *parts) if self.path else posixpath.join(*parts)
        return replace(self, path=path)


def is_same_store(one: Location, other: Location) -> bool:
    """Return whether two locations are in one store, as far as their text tells.

    HDFS has another address over HTTP, and none in `hdfs:///streams`: then the paths must do.
    """
    kinds = (one.kind, other.kind)
    if one.kind.store and one.kind.store == other.kind.store:
        is_by_path = not (one.bucket and other.bucket) or any(row.is_other_host for row in kinds)
        return is_by_path or one.bucket == other.bucket
    return (one.scheme, one.bucket) == (other.scheme, other.bucket)


def is_inside(inner: Location, outer: Location) -> bool:
    """Return whether a location is another one, or lies below it; links are not followed."""
    above = f"{outer.path}/" if outer.path.strip("/") else outer.path
    return is_same_store(inner, outer) and f"{inner.path}/".startswith(above)


def spark_location(location: Location) -> str:
    """Return a location as Spark's file systems know it: S3 is `s3a://` there."""
    text = str(location)
    if location.is_local and location.spelt:
        return f"{location.spelt}:{text}"  # a path alone is on the session's default file system
    spark_url = location.kind.spark_url
    if spark_url is None:
        return text
    path = f"/{location.path}" if location.path or location.spelt else ""
    return f"{spark_url(location.bucket, location.spelt)}{path}"


def kind_of(text: str) -> Scheme | None:
    """Return what the scheme of a path or URL decides; None for a scheme that is not known."""
    matched = _URL.fullmatch(text)
    return SCHEMES[LOCAL] if matched is None else find_scheme(matched["scheme"].lower())


def needs_session(text: str) -> bool:
    """Return whether only a Spark session reaches what a text names."""
    kind = kind_of(text)
    return kind is not None and kind.needs_session


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
        return Location(scheme=LOCAL, path=_absolute(text))
    spelt = matched["scheme"].lower()
    kind = find_scheme(spelt)
    if kind is None:
        more = f" {_VOLUMES}" if spelt == "dbfs" else ""
        raise LocationError(text, why=f"There is no reader for {spelt}: locations.{more}")
    kept = spelt if kind.keeps_spelling else ""
    if kind.is_local:
        path = _absolute("/" + matched["rest"].lstrip("/"))
        return Location(scheme=kind.name, path=path, spelt=kept)
    return replace(_in_bucket(text, kind, matched["rest"]), spelt=kept)


def normal(location: str) -> str:
    """Return a location in one form, and other text as it is; without credentials."""
    try:
        return str(parse_location(location))
    except LocationError:
        # What is no URL is a sink's own name for its place: `postgresql:gold@env:DSN`.
        return redact_location(location) if "://" in location else location


def refuse_credentials(text: str) -> None:
    """Refuse a path, URL or name that holds credentials.

    Raises:
        CredentialsInLocationError: It holds a user, a password or a query string.
    """
    if has_credentials(text):
        raise CredentialsInLocationError(text)


def _in_bucket(text: str, kind: Scheme, rest: str) -> Location:
    authority, _, key = rest.removeprefix("//").partition("/")
    if not rest.startswith("//"):
        authority, key = "", rest
    if not authority and kind.needs_host:
        raise LocationError(text, why=f"There is no {kind.host} between // and the next /.")
    parts = [part for part in key.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise LocationError(text, why="Its path has a '..', which a bucket takes literally.")
    authority = kind.normal_host(text, authority)
    return Location(scheme=kind.name, bucket=authority, path="/".join(parts))


def _absolute(path: str) -> str:
    return posixpath.normpath(str(Path(path).absolute()))

"""Locations: what people write for a directory, brought to one form. No I/O.

Hadoop's spellings are understood (`s3a://`, `file:/`, `abfss://container@account…`): that is how
Spark's users know their checkpoints. Nothing is percent-decoded: Hadoop does not either.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from holdfast.errors import CredentialsInLocationError, LocationError
from holdfast.redact import has_credentials

Scheme = Literal["file", "s3", "gs", "az", "hdfs", "viewfs", "webhdfs", "swebhdfs", "memory"]

_SCHEMES: dict[str, Scheme] = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
    "wasb": "az",
    "wasbs": "az",
    "hdfs": "hdfs",
    "viewfs": "viewfs",
    "webhdfs": "webhdfs",
    "swebhdfs": "swebhdfs",
    "memory": "memory",
}
_WITHOUT_AUTHORITY = ("hdfs", "viewfs")
"""Schemes whose host the settings of a session can give: `hdfs:///streams`."""
_WEB = {"webhdfs", "swebhdfs"}
_HDFS = {"hdfs", "viewfs", *_WEB}
_NAMENODE_PORT = ":8020"
"""Hadoop's own default."""
_VOLUMES = "Use the store itself: s3://, abfss:// or gs://."
_AZURE_SERVICES = {"abfs": "dfs", "abfss": "dfs", "wasb": "blob", "wasbs": "blob"}
PUBLIC_AZURE = "core.windows.net"
FABRIC = "fabric.microsoft.com"
"""Of OneLake."""
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)", re.DOTALL)
_AT_ACCOUNT = re.compile(
    r"(?P<container>[^@/]+)@(?P<account>[^./]+)(?:\.(?:dfs|blob)\.(?P<cloud>[^/]+))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A directory: on this machine's disk, or below a prefix of a bucket."""

    scheme: Scheme
    bucket: str = ""
    """The bucket; Azure's `container@account`, or `container@account.cloud` in other clouds than
    the public one; HDFS's `host:port`; empty on disk, and for the file system of a session."""
    path: str = ""
    """Absolute on disk; without slashes at its ends elsewhere."""
    spelt: str = field(default="", compare=False)
    """The scheme as it was written, where Spark's settings may be for that one: `wasbs`."""

    def __str__(self) -> str:
        if self.scheme == "file":
            return self.path
        path = f"/{self.path}" if self.path else ""
        if self.scheme == "az" and "@" in self.bucket:
            return f"abfss://{_azure_host(self, 'dfs')}{path}"
        return f"{self.scheme}://{self.bucket}{path}"

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
    if one.scheme in _HDFS and other.scheme in _HDFS:
        is_by_path = not (one.bucket and other.bucket) or bool({one.scheme, other.scheme} & _WEB)
        return is_by_path or one.bucket == other.bucket
    return (one.scheme, one.bucket) == (other.scheme, other.bucket)


def is_inside(inner: Location, outer: Location) -> bool:
    """Return whether a location is another one, or lies below it; links are not followed."""
    above = f"{outer.path}/" if outer.path.strip("/") else outer.path
    return is_same_store(inner, outer) and f"{inner.path}/".startswith(above)


def spark_location(location: Location) -> str:
    """Return a location as Spark's file systems know it: S3 is `s3a://` there."""
    text = str(location)
    if location.scheme == "file" and location.spelt:
        return f"file:{text}"  # a path alone is on the session's default file system
    if location.scheme == "s3":
        return f"s3a{text.removeprefix('s3')}"
    if location.scheme == "az" and "@" in location.bucket and location.spelt in _AZURE_SERVICES:
        host = _azure_host(location, _AZURE_SERVICES[location.spelt])
        return f"{location.spelt}://{host}/{location.path}"
    return text


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
    spelt = matched["scheme"].lower()
    scheme = _SCHEMES.get(spelt)
    if scheme is None:
        more = f" {_VOLUMES}" if spelt == "dbfs" else ""
        raise LocationError(text, why=f"There is no reader for {spelt}: locations.{more}")
    if scheme == "file":
        path = _absolute("/" + matched["rest"].lstrip("/"))
        return Location(scheme="file", path=path, spelt=spelt)
    found = _in_bucket(text, scheme, matched["rest"])
    return replace(found, spelt=spelt) if scheme == "az" else found


def refuse_credentials(text: str) -> None:
    """Refuse a path, URL or name that holds credentials.

    Raises:
        CredentialsInLocationError: It holds a user, a password or a query string.
    """
    if has_credentials(text):
        raise CredentialsInLocationError(text)


def _in_bucket(text: str, scheme: Scheme, rest: str) -> Location:
    authority, _, key = rest.removeprefix("//").partition("/")
    if not rest.startswith("//"):
        authority, key = "", rest
    if not authority and scheme not in _WITHOUT_AUTHORITY:
        kind = "host" if scheme in _HDFS else "bucket"
        raise LocationError(text, why=f"There is no {kind} between // and the next /.")
    parts = [part for part in key.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise LocationError(text, why="Its path has a '..', which a bucket takes literally.")
    if scheme == "az":
        authority = _azure_bucket(text, authority)
    elif scheme in _HDFS:
        # Upper case stays: the name of a nameservice is a name in the cluster's settings.
        authority = authority.removesuffix(_NAMENODE_PORT if scheme == "hdfs" else "")
    return Location(scheme=scheme, bucket=authority, path="/".join(parts))


def _azure_bucket(text: str, authority: str) -> str:
    """Return `container@account` for every host of an account, with the cloud if it is another.

    Raises:
        LocationError: It is a host that Azure gives in other forms: a private link, a DNS zone.
    """
    container, at, host = authority.rpartition("@")
    matched = _AT_ACCOUNT.fullmatch(f"{container}{at}{host.lower()}")
    is_short = "@" not in authority and not text.lower().startswith(tuple(_AZURE_SERVICES))
    if matched is None and not is_short:
        why = "It does not name container@account.dfs.cloud or container@account.blob.cloud."
        how = "Give abfss://container@account.dfs.core.windows.net/…."
        raise LocationError(text, why=why, how=how)
    if matched is None:
        return authority
    cloud = matched["cloud"] or PUBLIC_AZURE
    bucket = f"{matched['container']}@{matched['account']}"
    return bucket if cloud == PUBLIC_AZURE else f"{bucket}.{cloud}"


def azure_account(location: Location) -> tuple[str, str, str]:
    """Return the container of an Azure location, its account, and the domain of its cloud.

    The account is empty if the location does not name it: `az://container/path`.
    """
    container, _, rest = location.bucket.partition("@")
    account, _, cloud = rest.partition(".")
    return container, account, cloud or PUBLIC_AZURE


def _azure_host(location: Location, service: str) -> str:
    container, account, cloud = azure_account(location)
    return f"{container}@{account}.{service}.{cloud}"


def _absolute(path: str) -> str:
    return posixpath.normpath(str(Path(path).absolute()))

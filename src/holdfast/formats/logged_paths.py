"""Paths as the logs of Spark's file source and file sink write them: URIs, percent-encoded.

Spark writes `file:///in/a%20b.json` and `s3a://lake/in/a.json`. A log can hold anything: what is
not an absolute path, or climbs with `..`, is never opened.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import msgspec

from holdfast.printable import printable
from holdfast.redact import redact_location

_URI = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?)?(?P<path>/.*)", re.DOTALL
)


class LoggedPath(msgspec.Struct, frozen=True, kw_only=True):
    """One file, decoded."""

    root: str
    """The scheme and the authority: `s3a://lake`, `file://`; empty when the path has none."""
    directory: str
    """Absolute, without a slash at its end."""
    name: str

    @property
    def home(self) -> str:
        """The directory as a location."""
        return f"{self.root}{self.directory or '/'}"

    @property
    def display_name(self) -> str:
        """The file as people may see it: without credentials and hidden characters."""
        return show_path(f"{self.root}{self.directory}/{self.name}")


def parse_logged_path(text: str) -> LoggedPath | None:
    """Return what a path in a log means; None when it is not one that Spark writes."""
    directory, slash, name = text.rpartition("/")
    place = _parse_directory(directory + slash)
    decoded = _decode(name)
    if place is None or not decoded or decoded == ".." or "/" in decoded or "\0" in decoded:
        return None
    return LoggedPath(root=place[0], directory=place[1], name=decoded)


@lru_cache(maxsize=4096)
def _parse_directory(text: str) -> tuple[str, str] | None:
    """Return the root and the decoded directory of a URI; a log has few of them."""
    matched = _URI.fullmatch(text)
    path = None if matched is None else _decode(matched["path"])
    if matched is None or path is None or ".." in path.split("/") or "\0" in path:
        return None
    scheme = matched["scheme"]
    root = "" if scheme is None else f"{scheme.lower()}://{matched['authority'] or ''}"
    return root, path[:-1]


def _decode(text: str) -> str | None:
    """Return a text without percent-encoding; None when it is not UTF-8."""
    if "%" not in text:
        return text
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeError:
        return None


def show_path(text: str) -> str:
    """Return a path or a location as people may see it."""
    return printable(redact_location(text))


def common_directory(one: str, other: str) -> str:
    """Return the directory that two directories are in."""
    if f"{other}/".startswith(f"{one}/"):
        return one
    shared = []
    for mine, theirs in zip(one.split("/"), other.split("/"), strict=False):
        if mine != theirs:
            break
        shared.append(mine)
    return "/".join(shared)


def is_data_name(name: str) -> bool:
    """Return whether Spark reads files of this name: not those of `_SUCCESS` or `.part.crc`."""
    return not name.startswith((".", "_")) and not name.endswith("._COPYING_")

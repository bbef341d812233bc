"""Compares the paths that a query reads with those in the log of its file sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from holdfast.evidence.case import Case
from holdfast.formats.logged_paths import parse_logged_path
from holdfast.rules.file_evidence import file_sources

_SOURCE = re.compile(r"FileSource\[(?P<path>.*)\]", re.DOTALL)
_GLOB = re.compile(r"[*?\[{]")


class OtherPath(msgspec.Struct, frozen=True, kw_only=True):
    """A source of files that reads another path than its log holds."""

    source: str
    path: str
    """What the query reads now."""
    is_glob: bool
    logged: str
    """The directory of the file that was logged last."""
    logged_files: int
    swapped_with: str | None
    """The source whose log holds files of this path; None when none does."""


def find_other_paths(case: Case) -> Iterator[OtherPath]:
    """Yield every source of files whose log holds other paths than the query reads."""
    named = () if case.stream is None else case.stream.sources
    logged = dict(file_sources(case))
    for source, found in logged.items():
        matched = None
        if source.isdecimal() and int(source) < len(named):
            matched = _SOURCE.fullmatch(named[int(source)])
        if matched is None or not found.last_directory or "***" in found.last_directory:
            continue
        path = matched["path"]
        if is_read_from(path, found.last_directory):
            continue
        swapped = (
            name
            for name, other in logged.items()
            if name != source and is_read_from(path, other.last_directory)
        )
        yield OtherPath(
            source=source,
            path=path,
            is_glob=_GLOB.search(path) is not None,
            logged=found.last_directory,
            logged_files=found.logged,
            swapped_with=next(swapped, None),
        )


def is_read_from(path: str, directory: str) -> bool:
    """Return whether a directory is the one that a path or a pattern reads, or lies below it."""
    base = _GLOB.split(path)[0]
    if base != path:
        base = base.rpartition("/")[0]
    given = parse_logged_path(f"{base.rstrip('/')}/x")
    logged = parse_logged_path(f"{directory.rstrip('/')}/x")
    if given is None or logged is None:
        return True  # a relative path: where it leads to is not known
    is_same_root = not given.root or not logged.root or given.root == logged.root
    return is_same_root and f"{logged.directory}/".startswith(f"{given.directory}/")

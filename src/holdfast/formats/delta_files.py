"""Which data files the commits of a Delta table added and removed, and whether they are there."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

import msgspec

from holdfast.checkpoint.text import parse_json_object
from holdfast.formats.delta_log import commit_path
from holdfast.storage.read import Reader

_ADD, _REMOVE = b'{"add"', b'{"remove"'
_AT_ONCE = 16


class FileChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit did to the table's data."""

    added: tuple[str, ...]
    """Paths of the files whose rows are new, as the log has them."""
    removes_data: bool
    """Whether rows that were there are gone, or were changed."""


def read_file_changes(reader: Reader, version: int) -> FileChanges | None:
    """Read what a commit did; None when it is not in the log, or is damaged.

    Raises:
        ReadError: The store did not let us read it.
    """
    raw = reader.read(commit_path(version))
    return None if raw is None else parse_file_changes(raw)


def parse_file_changes(raw: bytes) -> FileChanges | None:
    """Return what the lines of a commit say; None when one of them cannot be read."""
    added, removes_data = [], False
    for action in _file_actions(raw):
        if action is None:
            return None
        kind, found = action
        if not found.get("dataChange", True):
            continue  # rewritten, with the same rows
        if kind == "remove":
            removes_data = True
        else:
            added.append(found["path"])
    return FileChanges(added=tuple(added), removes_data=removes_data)


def _file_actions(raw: bytes) -> Iterator[tuple[str, dict[str, Any]] | None]:
    """Yield the actions of a commit on files, each with its kind; None for one that is damaged."""
    for line in raw.splitlines():
        if not line.startswith((_ADD, _REMOVE)):
            continue
        action = parse_json_object(line.decode("utf-8", "replace"))
        ((kind, found),) = list((action or {"": None}).items())[:1]
        if not isinstance(found, dict) or not isinstance(found.get("path"), str):
            yield None
        else:
            yield kind, found


def find_missing_file(reader: Reader, version: int, newest: int) -> str | None:
    """Say which file of an older version of a table is gone; None if all are there.

    What the newest version has is there. So only the files are looked at that the commits since the
    older version have removed: VACUUM deletes those.

    Raises:
        ReadError: The store did not let us look.
    """
    removed: set[str] = set()
    for at in range(newest, version, -1):
        raw = reader.read(commit_path(at))
        actions = [None] if raw is None else list(_file_actions(raw))
        if None in actions:
            return f"commit {at} of its log, which says what version {version} had"
        found = [each for each in actions if each is not None]
        removed -= {each["path"] for kind, each in found if kind == "add"}
        removed |= {each["path"] for kind, each in found if kind == "remove"}
    own = sorted(unquote(path) for path in removed if "://" not in path and path[:1] != "/")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        there = pool.map(lambda path: reader.stat(path) is not None, own)
        return next((path for path, is_there in zip(own, there, strict=True) if not is_there), None)

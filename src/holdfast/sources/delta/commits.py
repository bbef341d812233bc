"""Reads commits of a Delta table with the files that they add and remove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

import msgspec

from holdfast.checkpoint.text import parse_json, parse_json_object, whole_number
from holdfast.formats.delta_log import Commit, parse_commit
from holdfast.sources.delta.found import SchemaChange, SourceCommit

_INSERTED = ("numTargetRowsInserted", "numTargetRowsUpdated")
_WRITTEN = ("numUpdatedRows", "numOutputRows")
_DELETED = ("numDeletedRows", "numTargetRowsDeleted")


class ReadCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit, with the paths of its files."""

    commit: Commit
    counted: SourceCommit
    added: tuple[str, ...]
    """Data files below the table; those elsewhere are left out."""
    removed: tuple[str, ...]
    """Without whether that changes data: OPTIMIZE removes files too."""


def parse_source_commit(version: int, raw: bytes) -> ReadCommit:
    """Return what a commit says; what is not understood says nothing."""
    commit = parse_commit(version, raw)
    added, removed = list(_files(raw, b"add")), list(_files(raw, b"remove"))
    new = [each for each in added if each.get("dataChange") is not False]
    gone = [each for each in removed if each.get("dataChange") is not False]
    rows = [_rows(each) for each in new]
    known = [each for each in rows if each is not None]
    inserted = [_count(commit.metrics, name) for name in _INSERTED]
    written = [_count(commit.metrics, name) for name in _WRITTEN]
    deleted = [_count(commit.metrics, name) for name in _DELETED]
    counted = SourceCommit(
        version=version,
        operation=commit.operation,
        written_ms=commit.written_ms,
        added_files=len(new),
        removed_files=len(gone),
        added_rows=sum(known) if len(known) == len(rows) else None,
        new_rows=_sum(inserted) if _sum(inserted) is not None else _sum(written),
        deleted_rows=_sum(deleted),
    )
    return ReadCommit(
        commit=commit,
        counted=counted,
        added=tuple(path for each in new if (path := _path(each)) is not None),
        removed=tuple(path for each in removed if (path := _path(each)) is not None),
    )


def compare_schemas(before: str | None, after: str | None) -> SchemaChange:
    """Say what a commit does to the columns, as Delta writes them."""
    if after is None or before == after:
        return SchemaChange.NONE
    if before is None:
        return SchemaChange.UNKNOWN
    old, new = parse_json(before), parse_json(after)
    if old == new:
        return SchemaChange.NONE
    return SchemaChange.ADDED if _contains(new, old) else SchemaChange.OTHER


def _contains(new: object, old: object) -> bool:
    """Return whether a type is another one with more columns and nothing changed."""
    if not isinstance(new, dict) or not isinstance(old, dict):
        return bool(new == old)
    if new.keys() != old.keys():
        return False
    for key, value in old.items():
        if key == "fields" and not _has_fields(new[key], value):
            return False
        if key != "fields" and not _contains(new[key], value):
            return False
    return True


def _has_fields(new: object, old: object) -> bool:
    if not isinstance(new, list) or not isinstance(old, list):
        return False
    named = {str(each.get("name")): each for each in new if isinstance(each, dict)}
    return all(
        isinstance(each, dict) and _contains(named.get(str(each.get("name"))), each) for each in old
    )


def _files(raw: bytes, action: bytes) -> Iterator[Mapping[str, object]]:
    head = b'{"' + action + b'"'
    for line in raw.splitlines():
        if line.startswith(head):
            parsed = parse_json_object(line.decode("utf-8", "replace")) or {}
            found = parsed.get(action.decode())
            if isinstance(found, dict):
                yield found


def _path(file: Mapping[str, object]) -> str | None:
    """Return the path of a data file below its table; None for one that is elsewhere."""
    path = file.get("path")
    if not isinstance(path, str) or not path or path.startswith("/") or "://" in path:
        return None
    parts = unquote(path).split("/")
    return None if ".." in parts or ":" in parts[0] else "/".join(parts)


def _rows(file: Mapping[str, object]) -> int | None:
    stats = file.get("stats")
    found = parse_json_object(stats) if isinstance(stats, str) else None
    return whole_number((found or {}).get("numRecords"))


def _count(metrics: Mapping[str, object], name: str) -> int | None:
    found = metrics.get(name)
    is_number = isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 19
    return int(found) if isinstance(found, str) and is_number else whole_number(found)


def _sum(counts: list[int | None]) -> int | None:
    known = [each for each in counts if each is not None]
    return sum(known) if known else None

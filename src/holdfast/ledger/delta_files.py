"""Which data files a commit of a Delta table added, and whether it removed any rows."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.checkpoint.text import parse_json_object
from holdfast.ledger.delta_log import commit_path
from holdfast.storage.read import Reader

_ADD, _REMOVE = b'{"add"', b'{"remove"'


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanges:
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
    for line in raw.splitlines():
        if not line.startswith((_ADD, _REMOVE)):
            continue
        action = parse_json_object(line.decode("utf-8", "replace"))
        if action is None:
            return None
        ((kind, found),) = list(action.items())[:1]
        if not isinstance(found, dict) or not isinstance(found.get("path"), str):
            return None
        if not found.get("dataChange", True):
            continue  # rewritten, with the same rows
        if kind == "remove":
            removes_data = True
        else:
            added.append(found["path"])
    return FileChanges(added=tuple(added), removes_data=removes_data)

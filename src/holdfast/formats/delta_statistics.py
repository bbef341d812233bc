"""The statistics that Delta keeps of each data file: the smallest and the largest of each column.

A commit lists its files as `add` actions, with `stats` as a JSON text:

    {"numRecords":5,"minValues":{"offset":5,…},"maxValues":{"offset":9,…},"nullCount":{"offset":0,…}}

What is not there, or was widened since, is not told. Columns within structures have dots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.formats.delta_log import commit_path
from holdfast.storage.read import Reader

_ADD, _REMOVE = b'{"add"', b'{"remove"'
_DEEPEST = 8

Value = int | str


class FileStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """One file that a commit has added."""

    records: int
    lowest: Mapping[str, Value]
    """By column; a column with a NULL, or without statistics, is not there."""
    highest: Mapping[str, Value]


def read_statistics(table: Reader, version: int) -> tuple[FileStatistics, ...] | None:
    """Return the files of a commit that only adds; None if it does not, or does not tell.

    Raises:
        ReadError: The store did not let us read it.
    """
    raw = table.read(commit_path(version))
    return None if raw is None else parse_statistics(raw)


def parse_statistics(raw: bytes) -> tuple[FileStatistics, ...] | None:
    """Return the files of a commit that only adds; None if it does not, or does not tell."""
    found = []
    for line in raw.splitlines():
        if line.startswith(_REMOVE):
            return None
        if line.startswith(_ADD):
            file = _parse_add(line)
            if file is None:
                return None
            found.append(file)
    return tuple(found)


def _parse_add(line: bytes) -> FileStatistics | None:
    added = (parse_json_object(line.decode("utf-8", "replace")) or {}).get("add")
    text = added.get("stats") if isinstance(added, dict) else None
    stats = parse_json_object(text) if isinstance(text, str) else None
    records = whole_number((stats or {}).get("numRecords"))
    if not isinstance(added, dict) or stats is None or records is None:
        return None
    if stats.get("tightBounds", True) is not True:
        return None
    full = {name for name, number in _flat(stats.get("nullCount")) if number == 0}
    parts = dict(_flat(added.get("partitionValues")))
    lowest, highest = (
        {name: value for name, value in _flat(stats.get(which)) if name in full} | parts
        for which in ("minValues", "maxValues")
    )
    return FileStatistics(records=records, lowest=lowest, highest=highest)


def _flat(found: object, above: str = "", depth: int = 0) -> Iterator[tuple[str, Value]]:
    """Yield the values of an object by their paths."""
    if not isinstance(found, dict) or depth > _DEEPEST:
        return
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.", depth + 1)
        elif isinstance(value, str) or whole_number(value) is not None:
            yield f"{above}{name}", value

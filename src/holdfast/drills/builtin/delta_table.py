"""What a Delta table holds, read without Spark: by its log, from its Parquet files.

For tables of drills: the log is read from its first commit, and rows that were deleted inside a
file (deletion vectors) are not known here.
"""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec

from holdfast.drills.history import Row
from holdfast.storage import Reader


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A table as of one commit."""

    version: int
    """-1 while there is no table."""
    notes: tuple[dict[str, Any], ...]
    """The user metadata of its commits up to this one, the oldest first; where it is JSON."""
    rows: tuple[Row, ...]

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """The rows of the ledger in its log, the oldest first."""
        return [note for note in self.notes if note.get("holdfast") == "row"]

    @property
    def end_offsets(self) -> str:
        """Where the last batch ended, as the ledger tells; empty before the first."""
        return str(self.ledger[-1]["end_offsets"]) if self.ledger else ""


class DeltaTable:
    """Reads a table again and again; commits and files that it has read it does not read again."""

    def __init__(self, reader: Reader) -> None:
        """Know nothing yet."""
        self._reader = reader
        self._commits: list[list[dict[str, Any]]] = []
        self._rows: dict[str, list[Row]] = {}

    def read(self) -> Snapshot:
        """Return the table as of its newest commit."""
        while (raw := self._reader.read(_path(len(self._commits)))) is not None:
            self._commits.append([json.loads(line) for line in raw.splitlines()])
        files: dict[str, None] = {}
        notes = []
        for action in (action for commit in self._commits for action in commit):
            if "add" in action:
                assert action["add"].get("deletionVector") is None, "not read here"
                files[action["add"]["path"]] = None
            elif "remove" in action:
                files.pop(action["remove"]["path"], None)
            elif note := action.get("commitInfo", {}).get("userMetadata"):
                notes.append(json.loads(note))
        return Snapshot(
            version=len(self._commits) - 1,
            notes=tuple(notes),
            rows=tuple(row for path in files for row in self._read_file(path)),
        )

    def _read_file(self, path: str) -> list[Row]:
        if path not in self._rows:
            raw = self._reader.read(path)
            assert raw is not None, f"{path} is in the log and not there"
            from pyarrow import parquet

            found = parquet.read_table(io.BytesIO(raw)).to_pylist()
            self._rows[path] = [tuple(row.values()) for row in found]
        return self._rows[path]


def _path(version: int) -> str:
    return f"_delta_log/{version:020d}.json"

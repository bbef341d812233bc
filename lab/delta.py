"""What a Delta table holds, read without Spark: by its log, from its Parquet files.

For tables of the lab: the log is read from its first commit, and rows that were deleted inside a
file (deletion vectors) are not known here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def read_delta(table: Path) -> list[tuple[Any, ...]]:
    """Return the rows of a table as of its newest commit; none while there is no table."""
    files: dict[str, None] = {}
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                assert action["add"].get("deletionVector") is None, "not read here"
                files[action["add"]["path"]] = None
            elif "remove" in action:
                files.pop(action["remove"]["path"], None)
    rows: list[tuple[Any, ...]] = []
    for path in files:
        rows += [tuple(row.values()) for row in pq.read_table(table / path).to_pylist()]
    return rows

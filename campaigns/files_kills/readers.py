"""Programs that read a directory of files and know nothing of Holdfast."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from holdfast.drills.history import Row


def read_dataset(directory: Path) -> list[Row]:
    """Return the ids that pyarrow finds in a directory of Parquet."""
    if not directory.is_dir():
        return []
    table = ds.dataset(str(directory), format="parquet").to_table()
    return [(each,) for each in table.column("id").to_pylist()] if table.num_columns else []


def read_parquet_glob(directory: Path) -> list[Row]:
    """Return the ids of all Parquet files that a glob finds at any depth, hidden or not."""
    found = sorted(directory.glob("**/*.parquet"))
    tables = (pq.ParquetFile(path).read(["id"]) for path in found)
    return [(each,) for table in tables for each in table.column("id").to_pylist()]


def read_json_glob(directory: Path) -> list[Row]:
    """Return the ids of all JSON files that a glob finds."""
    texts = (path.read_text() for path in sorted(directory.glob("**/*.json")))
    return [(json.loads(line)["id"],) for text in texts for line in text.splitlines()]


def read_csv_glob(directory: Path) -> list[Row]:
    """Return the ids of all CSV files that a glob finds."""
    texts = (path.read_text() for path in sorted(directory.glob("**/*.csv")))
    return [(int(row["id"]),) for text in texts for row in csv.DictReader(text.splitlines())]


READERS: Mapping[str, Mapping[str, Callable[[Path], list[Row]]]] = {
    "parquet": {"pyarrow dataset": read_dataset, "glob": read_parquet_glob},
    "json": {"glob": read_json_glob},
    "csv": {"glob": read_csv_glob},
}
"""By the format of the files."""

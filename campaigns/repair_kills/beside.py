"""Outputs that are files below the home: the directory of `hf.Files`, and a table of SQLite.

They are read as somebody reads them who knows nothing of Holdfast; their ledger rows by the ledger.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds

import holdfast as hf
from campaigns.repair_kills.ledger_row import ledger_row
from campaigns.repair_kills.tables import Rows
from holdfast.sinks.sink import SinkSpec

URL = "REPAIR_KILLS_URL"
PLACE = "beside"
"""Below the home; what is in it is compared row by row, and not file by file."""
FILED, SERVED = "filed", "served"
"""The streams, and what they write into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Both outputs."""

    home: Path

    def create(self) -> None:
        """Make the table, and say where it is."""
        self._place.mkdir(parents=True)
        os.environ[URL] = f"sqlite:///{self._database}"
        with closing(sqlite3.connect(self._database)) as connection:
            connection.execute(f"CREATE TABLE {SERVED} (value TEXT)")

    @property
    def sinks(self) -> Mapping[str, SinkSpec]:
        """The sink of each stream."""
        return {
            FILED: hf.Files(str(self._place / FILED)),
            SERVED: hf.Database(f"env:{URL}", table=SERVED),
        }

    def rows(self) -> Rows:
        """Return all rows, and the ledger rows without what each run has of its own."""
        found: Rows = {f"{PLACE}.{FILED}": self._filed(), f"{PLACE}.{SERVED}": self._served()}
        for stream, sink in self.sinks.items():
            found[f"{stream}.ledger"] = ledger_row(sink, stream)
        return found

    @property
    def _place(self) -> Path:
        return self.home / PLACE

    @property
    def _database(self) -> Path:
        return self._place / "served.db"

    def _filed(self) -> Counter[tuple[object, ...]]:
        files = ds.dataset(self._place / FILED, format="parquet")
        if "value" not in files.schema.names:  # there is no file
            return Counter()
        return Counter((each,) for each in files.to_table(["value"]).column("value").to_pylist())

    def _served(self) -> Counter[tuple[object, ...]]:
        with closing(sqlite3.connect(self._database)) as connection:
            return Counter(connection.execute(f"SELECT value FROM {SERVED}"))  # noqa: S608

"""What a history needs of the place where its tables are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from campaigns.histories.memory_table import Row
from holdfast.sinks.sink import SinkSpec


class Backend(Protocol):
    """Tables, and what other people do to them."""

    machine: Any
    """The class that plays a history with such tables."""

    def begin(self, home: Path) -> None:
        """Begin a history without tables."""

    def create(self, name: str, *, by_key: bool, versions: bool) -> None:
        """Create a table."""

    def sink(self, name: str, *, by_key: bool, sequenced: bool) -> SinkSpec:
        """Return the sink that writes into a table."""

    def rows(self, name: str) -> list[Row]:
        """Return every row."""

    def insert(self, name: str, rows: list[Row]) -> None:
        """Insert rows as another program."""

    def update(self, name: str, row_id: str, value: str) -> None:
        """Update a row as another program."""

    def delete(self, name: str, row_id: str) -> None:
        """Delete a row as another program."""

    def alter(self, name: str, what: str) -> None:
        """Change the table as its owner does."""

    def ledger(self, name: str) -> Any:
        """Return what the ledger says, without epochs; to be compared."""

"""Stands for a DataFrame of one batch: its rows, and the few calls that a fan-out makes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaigns.histories.memory_table import COLUMNS, Row


@dataclass(frozen=True)
class _Text:
    def simpleString(self) -> str:  # noqa: N802 - Spark's own word
        return "string"


@dataclass(frozen=True)
class _Field:
    name: str
    dataType: _Text = _Text()  # noqa: N815 - Spark's own word


SCHEMA = tuple(map(_Field, COLUMNS))


class Frame:
    """The rows of a batch."""

    schema = SCHEMA

    def __init__(self, rows: list[Row]) -> None:
        """Hold the rows."""
        self.rows = rows

    @property
    def sparkSession(self) -> Frame:  # noqa: N802 - Spark's own word
        """Itself: it reads too."""
        return self

    @property
    def read(self) -> _Reader:
        """Read rows that were materialised."""
        return _Reader()

    @property
    def write(self) -> _Writer:
        """Write the rows down."""
        return _Writer(self.rows)

    def persist(self) -> None:
        """Keep nothing: the rows are here."""

    def unpersist(self) -> None:
        """Forget nothing."""


class _Reader:
    def schema(self, schema: Any) -> _Reader:
        del schema
        return self

    def parquet(self, where: str) -> Frame:
        return Frame(json.loads((_path(where) / "part-0.parquet").read_text()))


class _Writer:
    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def mode(self, mode: str) -> _Writer:
        del mode
        return self

    def parquet(self, where: str) -> None:
        home = _path(where)
        home.mkdir(parents=True, exist_ok=True)
        (home / "part-0.parquet").write_text(json.dumps(self._rows))


def _path(where: str) -> Path:
    return Path(where.removeprefix("file://").removeprefix("file:"))

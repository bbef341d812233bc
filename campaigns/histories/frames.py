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


class _Schema(tuple[_Field, ...]):
    def jsonValue(self) -> list[str]:  # noqa: N802 - Spark's own word
        return [each.name for each in self]

    @classmethod
    def fromJson(cls, value: list[str]) -> _Schema:  # noqa: N802 - Spark's own word
        return cls(map(_Field, value))


SCHEMA = _Schema(map(_Field, COLUMNS))


class _Settings:
    """A session without settings of its own."""

    def get(self, name: str, default: str | None = None) -> str | None:
        del name
        return default

    def set(self, name: str, value: str) -> None:
        """Take a setting, and do nothing with it."""

    def unset(self, name: str) -> None:
        """Forget nothing."""


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
    def conf(self) -> _Settings:
        """The settings of the session."""
        return _Settings()

    def select(self, *columns: Any) -> Frame:
        """Return the same rows: all columns are asked for."""
        del columns
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
    def options(self, **options: Any) -> _Reader:
        del options
        return self

    def schema(self, schema: Any) -> _Reader:
        del schema
        return self

    def parquet(self, where: str) -> Frame:
        return Frame(json.loads((_path(where) / "part-0.parquet").read_text()))


class _Writer:
    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def option(self, name: str, value: str) -> _Writer:
        del name, value
        return self

    def mode(self, mode: str) -> _Writer:
        del mode
        return self

    def parquet(self, where: str) -> None:
        home = _path(where)
        home.mkdir(parents=True, exist_ok=True)
        (home / "part-0.parquet").write_text(json.dumps(self._rows))


def _path(where: str) -> Path:
    return Path(where.removeprefix("file://").removeprefix("file:"))

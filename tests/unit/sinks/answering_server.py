"""A PostgreSQL that answers by what a statement says, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

Rows = Sequence[tuple[Any, ...]]
Answer = Rows | Callable[[Any], Rows]
"""Rows, or what makes them of the statement's values."""


class Server:
    """As much of a connection as reads and single statements take."""

    closed = broken = False

    def __init__(self, answers: dict[str, Answer] | None = None) -> None:
        """Answer the statements that have a text of the keys; the first that fits wins."""
        self.answers = answers or {}
        self.asked: list[tuple[str, Any]] = []

    def execute(self, statement: str | bytes, values: Any = ()) -> Any:
        text = statement if isinstance(statement, str) else statement.decode()
        self.asked.append((text, values))
        answer = next((rows for part, rows in self.answers.items() if part in text), ())
        rows = list(answer(values) if callable(answer) else answer)
        return SimpleNamespace(
            fetchone=lambda: rows[0] if rows else None, fetchall=lambda: rows, rowcount=len(rows)
        )

    def transaction(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        self.closed = True


def tables_of(version: int | None) -> dict[str, Answer]:
    """Return what a server answers whose ledger is of a version; None: there are no tables."""
    return {
        "to_regclass('holdfast.version')": [(version is not None,)],
        "max(version)": [(version,)],
    }

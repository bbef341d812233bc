"""`hf.ExternalTable`: what a stream must have become in a table that the user's own code writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec


def _as_it_is(expected: Any) -> Any:
    return expected


class ExternalTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table, and how the rows of a stream become its rows.

    Args:
        actual: From a session to a DataFrame of what the table holds.
        expected: From all rows that the stream gave to what the table must hold; by default the
            same rows.
        keys: Columns that name a row, so that a row with other values is one altered row.
    """

    actual: Callable[[Any], Any]
    expected: Callable[[Any], Any] = _as_it_is
    keys: Sequence[str] = ()

"""What is planted into the table of each operator, in the SQL of Delta.

`{t}` is the table, `{last}` the rows of the newest file, `{late}` the rows that came late.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault."""

    label: str
    statement: str
    one: tuple[str, ...] = ()
    """The columns that name one row: `{one}` in the statement is the condition of the first."""


_LATE = (
    "(SELECT window(at, '10 minutes').start AS start, kind, count(*) AS rows, "
    "sum(amount) AS amount FROM {late} GROUP BY 1, 2)"
)
_NEWEST = "(SELECT kind, count(*) AS rows, sum(amount) AS amount FROM {last} GROUP BY 1)"
_NEWEST_WINDOWS = (
    "(SELECT window(at, '10 minutes').start AS start, kind, count(*) AS rows, "
    "sum(amount) AS amount FROM {last} GROUP BY 1, 2)"
)
_SET = "SET t.rows = {how}, t.amount = {how_much}"


def _merge(source: str, on: str, *, adds: bool) -> str:
    how = ("t.rows + s.rows", "t.amount + s.amount") if adds else ("s.rows", "s.amount")
    changed = _SET.format(how=how[0], how_much=how[1])
    return f"MERGE INTO {{t}} t USING {source} s ON {on} WHEN MATCHED THEN UPDATE {changed}"


_BY_KIND, _BY_WINDOW = "t.kind = s.kind", "t.kind = s.kind AND t.start = s.start"
_ONE_KIND, _ONE_WINDOW, _ONE_ID = ("kind",), ("start", "kind"), ("id", "at")


def _of_groups(one: tuple[str, ...]) -> tuple[Fault, ...]:
    return (
        Fault("a group is missing", "DELETE FROM {t} WHERE {one}", one),
        Fault("a group is there twice", "INSERT INTO {t} SELECT * FROM {t} WHERE {one}", one),
        Fault("a count is off by one", "UPDATE {t} SET rows = rows + 1 WHERE {one}", one),
        Fault("a sum is off by one", "UPDATE {t} SET amount = amount - 1 WHERE {one}", one),
        Fault("a sum is NULL", "UPDATE {t} SET amount = NULL WHERE {one}", one),
    )


_COUNTS = (
    *_of_groups(_ONE_KIND),
    Fault("a batch was added twice", _merge(_NEWEST, _BY_KIND, adds=True)),
    Fault("state was lost before the last batch", _merge(_NEWEST, _BY_KIND, adds=False)),
    Fault(
        "an older newest time",
        "UPDATE {t} SET newest = newest - INTERVAL 1 SECOND WHERE {one}",
        _ONE_KIND,
    ),
)
_WINDOWS = (
    *_of_groups(_ONE_WINDOW),
    Fault(
        "a row is in the next window",
        "UPDATE {t} SET start = start + INTERVAL 300 DAYS WHERE {one}",
        _ONE_WINDOW,
    ),
    Fault("late rows were counted", _merge(_LATE, _BY_WINDOW, adds=True)),
)
_DUPLICATES = (
    Fault("a row is missing", "DELETE FROM {t} WHERE {one}", _ONE_ID),
    Fault("a row is there twice", "INSERT INTO {t} SELECT * FROM {t} WHERE {one}", _ONE_ID),
    Fault(
        "another row of the same key is there too",
        "INSERT INTO {t} SELECT id, 'z', amount, at FROM {t} WHERE {one}",
        _ONE_ID,
    ),
    Fault("a value that no duplicate has", "UPDATE {t} SET amount = 99 WHERE {one}", _ONE_ID),
    Fault(
        "a key that never came",
        "INSERT INTO {t} SELECT id + 100000, kind, amount, at FROM {t} WHERE {one}",
        _ONE_ID,
    ),
    Fault("state was lost before the last batch", "INSERT INTO {t} SELECT * FROM {last}"),
)
FAULTS = {
    "counts": _COUNTS,
    "totals": _COUNTS,
    "windows": (
        *_WINDOWS,
        Fault("a batch was added twice", _merge(_NEWEST_WINDOWS, _BY_WINDOW, adds=True)),
    ),
    "closed-windows": (
        *_WINDOWS,
        Fault(
            "an open window was written",
            "INSERT INTO {t} SELECT * FROM {windows}".replace("{windows}", _NEWEST_WINDOWS),
        ),
    ),
    "sliding-windows": _WINDOWS,
    "duplicates": _DUPLICATES,
    "duplicates-by-time": _DUPLICATES,
    "duplicates-within": _DUPLICATES,
    "joined": (
        Fault("a row is missing", "DELETE FROM {t} WHERE {one}", _ONE_ID),
        Fault("a row is there twice", "INSERT INTO {t} SELECT * FROM {t} WHERE {one}", _ONE_ID),
        Fault("a sum is off by one", "UPDATE {t} SET amount = amount + 1 WHERE {one}", _ONE_ID),
        Fault(
            "joined with another version",
            "UPDATE {t} SET label = replace(label, 'first', 'second') WHERE label IS NOT NULL",
        ),
        Fault(
            "an unmatched row has a match",
            "UPDATE {t} SET label = 'first d' WHERE label IS NULL",
        ),
        Fault("unmatched rows are missing", "DELETE FROM {t} WHERE label IS NULL"),
    ),
}

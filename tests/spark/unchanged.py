"""A start that is refused leaves everything as it was: compared byte by byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

import holdfast as hf
from holdfast.streams.refusal import FenceNotTakenError

_CATALOG = """\
SELECT n.nspname, c.relname, c.oid, c.relfilenode, c.relkind,
    (SELECT array_agg((a.attname, a.atttypid, a.attnotnull)::text ORDER BY a.attnum)
     FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_'
ORDER BY 1, 2"""
UNCHANGED = "nothing was written"
_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_temp' ORDER BY 1"


@contextmanager
def unchanged_when_refused(*places: Path, dsn: str | None = None) -> Iterator[None]:
    """Compare what is at some places, and in a database, before and after a start that raises.

    In the record there may be one more lease, and it must be released. A start that is refused by
    or after its fence had been through its checks, and says so: that one is not looked at.
    """
    before, leases = snapshot(places, dsn), _leases(places)
    try:
        yield
    except FenceNotTakenError:
        raise
    except hf.HoldfastError as error:
        if getattr(error, "so_far", UNCHANGED) != UNCHANGED:
            raise
        _compare(error.code, before, snapshot(places, dsn))
        for path in _leases(places) - leases:
            _check_released(path)
        raise


def _compare(code: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    assert changed == [], f"{code} changed something"


def snapshot(places: tuple[Path, ...], dsn: str | None) -> dict[str, Any]:
    """Return what is there, but for leases: files, catalog, rows."""
    found: dict[str, Any] = {}
    for place in places:
        for path in sorted(place.rglob("*")) if place.exists() else ():
            if path.is_file() and path.parent.name != "leases":
                found[str(path)] = path.read_bytes()
    if dsn is not None:
        with psycopg.connect(dsn) as connection:
            found["schemas"] = connection.execute(_SCHEMAS).fetchall()
            found["catalog"] = connection.execute(_CATALOG).fetchall()
            for schema, table, _, _, kind, _ in found["catalog"]:
                if kind == "r":
                    query = f'SELECT t::text FROM "{schema}"."{table}" t ORDER BY 1'
                    found[f"{schema}.{table}"] = connection.execute(query.encode()).fetchall()
    return found


def _leases(places: tuple[Path, ...]) -> set[Path]:
    return {path for place in places for path in place.rglob("leases/*.json")}


def _check_released(path: Path) -> None:
    assert json.loads(path.read_bytes())["released"] is True, path

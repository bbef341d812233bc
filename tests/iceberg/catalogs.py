"""The catalog of a session, and what commands without Spark know of it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from lab import Postgres
from lab.iceberg import jdbc_catalog, rest_catalog
from lab.iceberg_rest import RestCatalog

_EMPTY = (
    "CREATE TABLE iceberg_tables (catalog_name text, table_namespace text, table_name text, "
    "metadata_location text)"
)


@contextmanager
def open_catalog(postgres: Postgres, warehouse: Path) -> Iterator[dict[str, str]]:
    """Give the settings of the catalog `ice`; the environment names it and an empty one."""
    names = [f"ice_{uuid.uuid4().hex[:12]}" for _ in range(2)]
    for name in names:
        postgres.create_database(name)
    with ExitStack() as opened:
        if os.environ.get("HOLDFAST_TEST_KIND") == "rest":
            servers = [opened.enter_context(RestCatalog(postgres, n, warehouse)) for n in names]
            places = [each.address for each in servers]
            settings = rest_catalog(places[0])
        else:
            places = list(map(postgres.dsn, names))
            settings = jdbc_catalog(postgres, names[0], warehouse)
            with psycopg.connect(places[1]) as other:
                other.execute(_EMPTY)
        os.environ["HOLDFAST_TEST_CATALOG"], os.environ["HOLDFAST_TEST_OTHER"] = places
        yield settings

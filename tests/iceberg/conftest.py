"""A session with Iceberg and a catalog, for tests in the Python of Spark 4.1 and older.

`tests/spark/test_iceberg_sink.py` runs them there, with a JDBC catalog, or with the REST catalog
that HOLDFAST_TEST_KIND=rest asks for. In the environment of development, whose Spark has no
Iceberg, they are not there.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from lab import Postgres
from lab.iceberg import RUNTIMES, iceberg_installation
from lab.spark import end_jvm, environment
from lab.versions import OWN_VERSION
from tests.iceberg.catalogs import open_catalog

if OWN_VERSION not in RUNTIMES:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session, with the catalog `ice`."""
    directory = tmp_path_factory.mktemp("iceberg")
    installation = iceberg_installation(OWN_VERSION)
    with open_catalog(postgres, directory / "warehouse") as settings:
        os.environ.update(
            environment(directory, settings, log_level="error", installation=installation)
        )
        found = SparkSession.builder.getOrCreate()
        found.sql("CREATE NAMESPACE ice.db")
        yield found
        end_jvm(found)


@pytest.fixture
def table() -> str:
    """The name of a table that is not there."""
    return f"ice.db.t_{uuid.uuid4().hex[:12]}"

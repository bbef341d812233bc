"""A session with Iceberg and a JDBC catalog: these tests run in the Python of Spark 4.1 and older.

`tests/spark/test_iceberg_sink.py` runs them there. In the environment of development, whose Spark
has no Iceberg, they are not there.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from lab import Postgres
from lab.iceberg import RUNTIMES, iceberg_installation, jdbc_catalog
from lab.spark import end_jvm, environment
from lab.versions import OWN_VERSION

if OWN_VERSION not in RUNTIMES:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session, with the catalog `ice`."""
    directory = tmp_path_factory.mktemp("iceberg")
    database = f"ice_{uuid.uuid4().hex[:12]}"
    postgres.create_database(database)
    settings = jdbc_catalog(postgres, database, directory / "warehouse")
    installation = iceberg_installation(OWN_VERSION)
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

"""The lab as pytest fixtures: each server is started once per session, when a test first asks.

Tests share servers and the Spark session, and take a topic, a database or a location of their own.
A test that crashes or pauses a server starts one for itself. Who runs pytest very often starts a
PostgreSQL before, and names its port in `HOLDFAST_POSTGRES_PORT`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lab import S3, Kafka, PgBouncer, Postgres
    from lab.azurite import Azurite
    from lab.gcs import Gcs
    from lab.hdfs import Hdfs
    from lab.mariadb import MariaDB

# Imported where used: every unit test loads this module, and none of them wants Spark.


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    """A Kafka broker."""
    from lab import Kafka  # noqa: PLC0415

    with Kafka() as server:
        yield server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A PostgreSQL server."""
    from lab import Postgres  # noqa: PLC0415

    if port := os.environ.get("HOLDFAST_POSTGRES_PORT"):
        yield Postgres(tmp_path_factory.mktemp("postgres"), port=int(port))
        return
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """A MariaDB server."""
    from lab.mariadb import MariaDB  # noqa: PLC0415

    with MariaDB() as server:
        yield server


@pytest.fixture(scope="session")
def pgbouncer(postgres: Postgres) -> Iterator[PgBouncer]:
    """A pool of transactions in front of the PostgreSQL server."""
    from lab import PgBouncer  # noqa: PLC0415

    with PgBouncer(postgres) as server:
        yield server


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """An S3 server with the bucket `lake`."""
    from lab import S3  # noqa: PLC0415

    with S3() as server:
        yield server


@pytest.fixture(scope="session")
def hdfs() -> Iterator[Hdfs]:
    """A NameNode with one DataNode."""
    from lab.hdfs import Hdfs  # noqa: PLC0415

    with Hdfs() as server:
        yield server


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    """An emulator of Azure's blob storage with the container `lake`."""
    from lab.azurite import Azurite  # noqa: PLC0415

    with Azurite() as server:
        yield server


@pytest.fixture(scope="session")
def gcs() -> Iterator[Gcs]:
    """An emulator of Google Cloud Storage with the bucket `lake`."""
    from lab.gcs import Gcs  # noqa: PLC0415

    with Gcs() as server:
        yield server


@pytest.fixture(scope="session")
def class_archive() -> Path:
    """The archive that makes a Spark start cheap; ask for it before starting drivers."""
    from lab.warm_up import ensure_archive  # noqa: PLC0415

    return ensure_archive()


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, class_archive: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """The one Spark session of this process; Delta, Kafka and s3a where its version has them."""
    from lab.spark import OWN, start_session  # noqa: PLC0415

    assert class_archive.exists()
    settings = request.getfixturevalue("s3").spark_settings() if OWN.has_s3a else {}
    session = start_session(tmp_path_factory.mktemp("spark"), settings)
    yield session
    session.stop()


@pytest.fixture
def database(postgres: Postgres) -> str:
    """DSN of a new, empty database."""
    return postgres.create_database(f"test_{uuid.uuid4().hex[:12]}")

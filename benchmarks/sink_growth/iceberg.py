"""Iceberg: history is snapshots in the metadata file, and data files in manifests.

The data files are added by Iceberg's own classes, as one snapshot whose files are not on disk: an
append never reads them. The snapshots are put into the metadata file, older than all that are
there, in the form of a real one; the catalog is told of that file.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import psycopg
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from benchmarks.sink_growth.growing import ROWS, GrowingSink
from lab import Postgres
from lab.iceberg import iceberg_installation, jdbc_catalog
from lab.spark import environment
from lab.versions import OWN_VERSION

_DATABASE = "ice"
_POINTER = "SELECT metadata_location FROM iceberg_tables WHERE table_name = %s"
_POINT = "UPDATE iceberg_tables SET metadata_location = %s WHERE table_name = %s"
_FIRST_ID = 1 << 40


class Table:
    """A table of the catalog, and what is done to it beside Iceberg."""

    def __init__(self, spark: SparkSession, name: str, dsn: str) -> None:
        """Create it."""
        self.name = f"ice.db.{name}"
        self._short, self._dsn, self._spark = name, dsn, spark
        self._behind = 0
        spark.sql(f"CREATE TABLE {self.name} (id bigint, name string) USING iceberg")

    def grow(self, size: int) -> None:
        """Have so many snapshots and data files more than real ones."""
        self._add_files(self._behind, size)
        self._add_snapshots(self._behind, size)
        self._behind = size
        self._spark.sql(f"REFRESH TABLE {self.name}")

    @property
    def metadata_bytes(self) -> int:
        """The size of its metadata file."""
        return self._metadata().stat().st_size

    def _metadata(self) -> Path:
        with psycopg.connect(self._dsn) as connection:
            found = connection.execute(_POINTER, [self._short]).fetchone()
        assert found is not None
        return Path(urlparse(found[0]).path)

    def _add_files(self, first: int, last: int) -> None:
        jvm: Any = self._spark._jvm  # noqa: SLF001 - Iceberg's own API
        session = self._spark._jsparkSession  # noqa: SLF001 - the same
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session, self.name)
        table.refresh()
        append, spec = table.newFastAppend(), table.spec()
        for number in range(first, last):
            file = jvm.org.apache.iceberg.DataFiles.builder(spec)
            file = file.withPath(f"{table.location()}/data/crafted-{number:08}.parquet")
            file = file.withFileSizeInBytes(1_500).withRecordCount(ROWS).withFormat("parquet")
            append.appendFile(file.build())
        append.commit()

    def _add_snapshots(self, first: int, last: int) -> None:
        path = self._metadata()
        metadata = json.loads(path.read_text())
        oldest = metadata["snapshots"][0]
        like = metadata["snapshots"][-2]  # a batch; the newest is that of the added files
        crafted = [
            {
                **{name: value for name, value in like.items() if name != "parent-snapshot-id"},
                **({"parent-snapshot-id": _FIRST_ID + number - 1} if number else {}),
                "snapshot-id": _FIRST_ID + number,
                "sequence-number": 0,
                "timestamp-ms": oldest["timestamp-ms"] - 1,
                "manifest-list": like["manifest-list"].replace("snap-", f"snap-{number}"),
            }
            for number in range(first, last)
        ]
        log = [{name: each[name] for name in ("timestamp-ms", "snapshot-id")} for each in crafted]
        metadata["snapshots"] = crafted + metadata["snapshots"]
        metadata["snapshot-log"] = log + metadata["snapshot-log"]
        made = path.with_name(f"99999-{uuid.uuid4()}.metadata.json")
        made.write_text(json.dumps(metadata))
        with psycopg.connect(self._dsn) as connection:
            connection.execute(_POINT, [str(made), self._short])


class OnIceberg(GrowingSink):
    """A table of Iceberg beside one that bare appends fill."""

    turns = 10
    starts = 3

    def __init__(self, spark: SparkSession, rows: DataFrame, dsn: str) -> None:
        """Create both tables."""
        self._rows = rows
        self._table, self._bare = (Table(spark, name, dsn) for name in ("readings", "bare"))
        super().__init__(hf.Iceberg(table=self._table.name), rows)

    def batch(self) -> Any:
        """Return the rows of a batch."""
        return self._rows

    def bare(self) -> None:
        """Append by Iceberg alone."""
        self._rows.writeTo(self._bare.name).append()

    def grow(self, size: int) -> None:
        """Have tables of so many snapshots and data files, the newest of them real."""
        self.write()
        self.bare()
        for table in (self._table, self._bare):
            table.grow(size)
        self.write()
        self.bare()

    def note(self) -> str:
        """Return the size of the metadata file."""
        return f"{self._table.metadata_bytes / 1e6:.2f} MB of metadata"


@contextmanager
def iceberg(directory: Path) -> Iterator[GrowingSink]:
    """Give a table of Iceberg, in a JDBC catalog."""
    with Postgres() as server:
        dsn = server.create_database(_DATABASE)
        settings = jdbc_catalog(server, _DATABASE, directory / "warehouse")
        installation = iceberg_installation(OWN_VERSION)
        variables = environment(
            directory, settings, jvm=("-Xmx3g",), log_level="error", installation=installation
        )
        os.environ.update(variables)
        spark = SparkSession.builder.getOrCreate()
        spark.sql("CREATE NAMESPACE ice.db")
        rows = spark.range(0, ROWS, 1, 1).selectExpr("id", "concat('row ', id) AS name").cache()
        yield OnIceberg(spark, rows, dsn)
        spark.stop()

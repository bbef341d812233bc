"""Iceberg on Spark 4.1 and older, in processes of its own: newer versions have no runtime.

`run_iceberg` runs a module of the repository in the Python of such a version. `IcebergSession` is a
process that takes one request per line and answers each with one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from lab.jars import fetch_jars
from lab.postgres import PASSWORD, Postgres
from lab.server import die_with_parent
from lab.spark import Installation, environment
from lab.versions import REPOSITORY, installation_of

_VERSION = "4.1"
_PROGRAM = Path(__file__).with_name("programs") / "iceberg.py"
_CATALOG = "spark.sql.catalog.ice"
_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

RUNTIMES = {"3.5": "iceberg-3.5", "4.0": "iceberg-4.0", "4.1": "iceberg"}
"""The groups of `jars.toml` with the runtime of a version of Spark."""


def iceberg_installation(version: str = _VERSION) -> Installation:
    """Return the PySpark of a version with Iceberg on its class path, and without Delta."""
    return replace(installation_of(version), connectors=RUNTIMES[version])


def jdbc_catalog(postgres: Postgres, database: str, warehouse: Path) -> dict[str, str]:
    """Return the settings of a catalog `ice` in a database of PostgreSQL, with files on disk."""
    return {
        "spark.sql.extensions": _EXTENSIONS,
        _CATALOG: "org.apache.iceberg.spark.SparkCatalog",
        f"{_CATALOG}.type": "jdbc",
        f"{_CATALOG}.uri": f"jdbc:postgresql://127.0.0.1:{postgres.port}/{database}",
        f"{_CATALOG}.jdbc.user": "postgres",
        f"{_CATALOG}.jdbc.password": PASSWORD,
        f"{_CATALOG}.jdbc.schema-version": "V1",
        f"{_CATALOG}.warehouse": str(warehouse),
    }


def rest_catalog(address: str) -> dict[str, str]:
    """Return the settings of a catalog `ice` behind a REST server, with files on its disk."""
    return {
        "spark.sql.extensions": _EXTENSIONS,
        _CATALOG: "org.apache.iceberg.spark.SparkCatalog",
        f"{_CATALOG}.type": "rest",
        f"{_CATALOG}.uri": address,
        f"{_CATALOG}.io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
    }


def run_iceberg(module: str, arguments: Sequence[str], *, version: str = _VERSION) -> int:
    """Run a module of the repository in the Python of a version of Spark; return its exit code."""
    installation = iceberg_installation(version)
    variables = {"PYTHONPATH": f"{REPOSITORY / 'src'}:{REPOSITORY}"}
    command = [str(installation.python), "-W", "ignore", "-m", module, *arguments]
    return subprocess.run(
        command, check=False, cwd=REPOSITORY, env={**os.environ, **variables}
    ).returncode


class IcebergSession:
    """A Spark session with the catalog `ice` on local disk; a context manager."""

    def __init__(self, directory: Path) -> None:
        """Start it; the first request waits for Spark."""
        self.warehouse = directory / "warehouse"
        installation = installation_of(_VERSION)
        settings = {
            "spark.jars": ",".join(map(str, fetch_jars("iceberg"))),
            "spark.sql.extensions": _EXTENSIONS,
            _CATALOG: "org.apache.iceberg.spark.SparkCatalog",
            f"{_CATALOG}.type": "hadoop",
            f"{_CATALOG}.warehouse": str(self.warehouse),
        }
        variables = environment(directory, settings, installation=installation, log_level="off")
        with (directory / "iceberg.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(installation.python), str(_PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **variables, "PYTHONPATH": ""},
                preexec_fn=die_with_parent,  # noqa: PLW1509 - runs one system call, takes no lock
            )

    def sql(self, statement: str) -> None:
        """Run a statement.

        Raises:
            RuntimeError: Spark refused it.
        """
        said = self._ask(sql=statement)
        if said["error"]:
            raise RuntimeError(said["error"])

    def insert(self, table: str, rows: Iterable[str], *, how: str = "INTO") -> None:
        """Insert rows of one column, as one snapshot; `how` is INTO or OVERWRITE."""
        values = ", ".join(f"('{row}')" for row in rows)
        self.sql(f"INSERT {how} {table} VALUES {values}")  # noqa: S608 - the lab's own names

    def rows(self, table: str) -> list[str]:
        """Return the first column of a table."""
        rows: list[str] = self._ask(rows=table)["rows"]
        return rows

    def run(self, source: str, checkpoint: Path, target: str) -> str:
        """Read a table as a stream into another one until all is read; return Spark's error.

        The error is empty when there is none.
        """
        error: str = self._ask(run=source, checkpoint=str(checkpoint), target=target)["error"]
        return error

    def close(self) -> None:
        """End it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, **request: object) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the process has no pipes")
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        for line in stdout:
            if line.startswith("{"):
                said: dict[str, Any] = json.loads(line)
                return said
        raise RuntimeError("the session of Iceberg ended; its log is beside its warehouse")

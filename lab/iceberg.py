"""Iceberg on Spark 4.1, in a process of its own: there is no runtime of Iceberg for newer versions.

The process takes one request per line and answers each with one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from lab.jars import fetch_jars
from lab.server import die_with_parent
from lab.spark import environment
from lab.versions import installation_of

_VERSION = "4.1"
_PROGRAM = Path(__file__).with_name("programs") / "iceberg.py"
_CATALOG = "spark.sql.catalog.ice"
_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


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

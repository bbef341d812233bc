"""Iceberg's own reference REST catalog, over a JDBC catalog in a database of PostgreSQL.

It is of Iceberg's tests, behind the HTTP server of the JDK; `programs/rest_catalog` starts it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import ClassVar
from urllib.error import URLError
from urllib.request import urlopen

from lab.cache import cached, sha256_of_text
from lab.errors import InstallFailedError
from lab.iceberg import iceberg_installation
from lab.jars import fetch_jars
from lab.postgres import PASSWORD, Postgres
from lab.server import Server, free_ports
from lab.tools import find_tool

_SOURCE = Path(__file__).parent / "programs/rest_catalog/org/apache/iceberg/rest/ServeCatalog.java"
_MAIN = "org.apache.iceberg.rest.ServeCatalog"
_JVM = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"]


class RestCatalog(Server):
    """A REST catalog; `address` is its URL."""

    name: ClassVar[str] = "iceberg-rest"

    def __init__(self, postgres: Postgres, database: str, warehouse: Path) -> None:
        """Serve nothing yet.

        Args:
            postgres: Keeps the catalog.
            database: In which it is.
            warehouse: Takes the files of the tables.
        """
        super().__init__()
        self.port = free_ports(1)[0]
        self._properties = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:postgresql://127.0.0.1:{postgres.port}/{database}",
            "jdbc.user": "postgres",
            "jdbc.password": PASSWORD,
            "jdbc.schema-version": "V1",
            "warehouse": warehouse.absolute().as_uri(),
        }

    @property
    def address(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    def _prepare(self) -> None:
        """Nothing is needed."""

    def _command(self) -> list[str]:
        classes = [str(_compiled()), *_class_path()]
        words = [f"{name}={value}" for name, value in self._properties.items()]
        java = [find_tool("java"), *_JVM, "-cp", ":".join(classes)]
        return [*java, _MAIN, str(self.port), *words]

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.address}/v1/config", timeout=5) as answer:  # noqa: S310 - loopback
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


def _class_path() -> list[str]:
    package = iceberg_installation().package
    driver = next(jar for jar in fetch_jars("iceberg") if jar.name.startswith("postgresql"))
    return [*map(str, fetch_jars("iceberg-rest")), str(driver), str(package / "jars" / "*")]


def _compiled() -> Path:
    """Return the classes of the program in the cache, compiled when its source is new."""
    name = f"iceberg-rest-{sha256_of_text(_SOURCE.read_text(), *_class_path())}"
    return cached(name, _compile)


def _compile(target: Path) -> None:
    command = [find_tool("javac"), "-d", str(target), "-cp", ":".join(_class_path()), str(_SOURCE)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode != 0:
        raise InstallFailedError("javac", said=ended.stdout + ended.stderr)

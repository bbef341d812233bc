"""Files with known rows, an Iceberg table to write them to, and what it must hold after each."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from campaigns.streams import guarded_to_iceberg
from campaigns.streams.guarded_to_iceberg import NATIVE, PLAIN, STREAM
from holdfast.drills.builtin.places import parts_told
from holdfast.drills.builtin.workload import APPEND, COUNTS, MERGE, Shape, write_files
from holdfast.drills.drill import Answer, Seen
from holdfast.drills.kill import Driver, Point
from holdfast.sinks.iceberg.notes import property_of
from lab import Postgres
from lab.faults.tcp_proxy import TcpProxy, TcpRequest
from lab.iceberg import iceberg_installation, jdbc_catalog, rest_catalog
from lab.iceberg_reader import DamagedFileError, Found, read_table
from lab.iceberg_rest import RestCatalog
from lab.spark import environment
from lab.versions import OWN_VERSION

SHAPES: Mapping[str, Shape] = {
    "append": APPEND,
    "merge": MERGE,
    "counts": COUNTS,
    NATIVE: APPEND,
    PLAIN: APPEND,
}
FILES = 10
COMMIT = b"UPDATE iceberg_tables"
"""How a JDBC catalog is told of a new metadata file. Of a start the first one is the fence, of a
batch the first one is what was staged and the second one publishes it. A driver that is killed
*before* one of them is gone when its request reaches the catalog, which takes it all the same: what
is published so is in the table, and the next driver skips it."""
REST_COMMIT = b"POST /v1/namespaces/db/tables/readings HTTP"
"""How a REST catalog is told."""
_CATALOG = "spark.sql.catalog.ice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Files with known rows, and a table in a catalog of its own; `Sinks` of a drill."""

    home: Path
    postgres: Postgres
    database: str
    shape: str
    files: int = FILES
    rest: RestCatalog | None = None
    """The server of the catalog; None: it is a JDBC catalog in the database itself."""

    damaged: list[str] = field(default_factory=list)
    """What looks said of a table whose committed files are damaged; only of what is not guarded."""

    @contextmanager
    def proxies(self, count: int = 1) -> Iterator[list[TcpProxy]]:
        """Give ways to the catalog, which is served as long as they are open."""
        with ExitStack() as opened:
            if self.rest is not None:
                opened.enter_context(self.rest)
            port = self.postgres.port if self.rest is None else self.rest.port
            yield [opened.enter_context(TcpProxy(port)) for _ in range(count)]

    def point(self, point: Point) -> Point:
        """Return a point of a chain as this catalog is told of it."""
        if isinstance(point, TcpRequest) and self.rest is not None:
            return replace(point, request=REST_COMMIT)
        return point

    def _settings(self, port: int) -> dict[str, str]:
        if self.rest is not None:
            return rest_catalog(f"http://127.0.0.1:{port}")
        url = f"jdbc:postgresql://127.0.0.1:{port}/{self.database}?prepareThreshold=0"
        found = jdbc_catalog(self.postgres, self.database, self.home / "warehouse")
        return {**found, f"{_CATALOG}.uri": url}

    @property
    def name(self) -> str:
        """The table, in its catalog."""
        return "db.readings"

    def driver(
        self,
        proxy: TcpProxy,
        *,
        directory: str = "driver",
        settings: Mapping[str, str] | None = None,
    ) -> Driver:
        """Return a driver that reaches the catalog by way of a proxy."""
        where = self.home / directory
        variables = environment(
            where,
            {**self._settings(proxy.port), **(settings or {})},
            installation=iceberg_installation(OWN_VERSION),
        )
        places = [str(self.home / "files"), f"ice.{self.name}", str(self.home / "streams")]
        return Driver(
            [guarded_to_iceberg.__file__, *places, self.shape],
            environment=variables,
            directory=where / "runs",
            striker=proxy,
        )

    @property
    def answers(self) -> Sequence[Answer]:
        """What the table must hold after every file."""
        shape = SHAPES[self.shape]
        after = [shape.after(files) for files in range(self.files + 1)]
        key, sequence = (0, 1) if shape.is_keyed else (None, None)
        return [Answer(sink="table", after=after, key=key, sequence=sequence)]

    def read(self) -> Found:
        """Read the table and its ledger from one metadata file."""
        return read_table(self.postgres.dsn(self.database), self.name)

    def look(self) -> Iterator[Seen]:
        """Read the table, with what the ledger in the same metadata tells."""
        try:
            found = self.read()
        except DamagedFileError as error:
            if self.shape not in (NATIVE, PLAIN):
                raise
            self.damaged.append(str(error))
            return
        yield Seen(sink="table", parts=self._told(found), rows=found.rows)

    def _told(self, found: Found) -> int | None:
        if self.shape in (NATIVE, PLAIN):
            return None
        row: dict[str, Any] = json.loads(found.properties.get(property_of(STREAM), "{}"))
        return parts_told(str(row.get("end_offsets", "{}")), SHAPES[self.shape])


def make_workload(
    home: Path, postgres: Postgres, shape: str, *, files: int = FILES, is_rest: bool = False
) -> Workload:
    """Write the files, and make an empty database for the catalog."""
    write_files(home / "files", files=files)
    database = f"ice_{uuid.uuid4().hex[:12]}"
    postgres.create_database(database)
    rest = RestCatalog(postgres, database, home / "warehouse") if is_rest else None
    return Workload(
        home=home, postgres=postgres, database=database, shape=shape, files=files, rest=rest
    )

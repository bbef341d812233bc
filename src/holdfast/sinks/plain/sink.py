"""The tables of plain streams, as kinds of sinks of their own.

Only plans write their ledger rows: by them, a plan that was cut short knows what it has done. No
start writes into them, and the batches in them are those of Spark's own sinks or of a user's code.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn

from holdfast.errors import ConfigError
from holdfast.record.contracts import SinkContract
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.postgres.sink import Postgres
from holdfast.sinks.secrets import shown_name
from holdfast.sinks.sink import Capability, SinkSpec, SinkWriter
from holdfast.storage.location import parse_location, spark_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.ledger.store import LedgerStore

_NO_QUERY = "-"
_QUERY_CHARACTERS = 36


def _refuse_writing(shown: str) -> NoReturn:
    raise ConfigError(f"{shown} is a table of a plain stream: Holdfast does not write into it.")


@dataclass(frozen=True, kw_only=True)
class PlainDelta(Delta):
    """A Delta table that a plain query writes: with Delta's own sink, or in `foreachBatch`."""

    kind: ClassVar[str] = "plain-delta"
    package: ClassVar[str] = "holdfast.sinks.plain"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.SETTLE, Capability.VERSIONS}
    )

    query_id: str = ""
    """Of the query whose own Delta sink writes it; empty when nothing says so."""

    def resolve_writer(self, df: DataFrame, *, stream: str) -> SinkWriter:
        """Refuse it.

        Raises:
            ConfigError: Always.
        """
        del df, stream
        _refuse_writing(self.display_name)

    def open_ledger(
        self, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
    ) -> LedgerStore:
        """Open the table's log."""
        found: LedgerStore = importlib.import_module(f"{self.package}.delta_ledger").open_ledger(
            self, spark, options=options
        )
        return found

    def describe(self) -> SinkContract:
        """Return what a plan keeps of the table: enough to open it again."""
        query = self.query_id.ljust(_QUERY_CHARACTERS, _NO_QUERY)
        place = f"{query}/{parse_location(self.place)}"
        return SinkContract(kind=self.kind, place=place, label=self.label)

    @classmethod
    def from_contract(cls, contract: SinkContract) -> PlainDelta:
        """Return the table that a plan names."""
        query, place = contract.place[:_QUERY_CHARACTERS], contract.place[_QUERY_CHARACTERS + 1 :]
        return cls(
            path=spark_location(parse_location(place)),
            name=contract.label,
            query_id=query.strip(_NO_QUERY),
        )


@dataclass(frozen=True)
class PlainPostgres(Postgres):
    """A PostgreSQL table that a plain query writes, whatever with."""

    kind: ClassVar[str] = "plain-postgres"
    package: ClassVar[str] = "holdfast.sinks.plain"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.SETTLE})

    def resolve_writer(self, df: DataFrame, *, stream: str) -> SinkWriter:
        """Refuse it.

        Raises:
            ConfigError: Always.
        """
        del df, stream
        _refuse_writing(self.display_name)

    def open_ledger(
        self, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
    ) -> LedgerStore:
        """Open the ledger beside the table."""
        del spark, options
        module = importlib.import_module(f"{self.package}.postgres_ledger")
        found: LedgerStore = module.PlainPostgresLedgerStore(self)
        return found

    def describe(self) -> SinkContract:
        """Return what a plan keeps of the table: enough to open it again, no secret."""
        secret = shown_name(self.dsn)
        return SinkContract(kind=self.kind, place=self.place, label=self.label, secret=secret)


PLAIN_KINDS: tuple[type[SinkSpec], ...] = (PlainDelta, PlainPostgres)

"""`hf.Postgres`: a table of PostgreSQL as an exactly-once sink, as a user writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

from holdfast.errors import ConfigError, created_without_our_frames
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.merging import check_keys
from holdfast.sinks.options import as_number, check_label
from holdfast.sinks.secrets import Secret, check_secret, shown_name
from holdfast.sinks.sink import Capability, SinkSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.record.contracts import SinkContract
    from holdfast.sinks.sink import SinkWriter


MOST_PARALLEL = 64
"""The most tasks that write one batch: each has a connection, and leaves a partition."""


@created_without_our_frames
@dataclass(frozen=True)
class Postgres(SinkSpec):
    """A table of PostgreSQL: appended to, or merged into by `keys`.

    With `parallel`, so many tasks copy a batch at once, each into a table of its own. One
    transaction attaches these as partitions and sets the ledger row. The table must be partitioned
    by `LIST (holdfast_part)`, the role must own it, and the executors need the DSN.

    Args:
        dsn: `env:NAME`, `file:PATH`, or a function that returns it.
        table: The table, with its schema where it is not `public`.
        keys: Columns by which rows are merged; without them rows are appended.
        sequence_by: The column that says which of two rows with one key is newer.
        name: Its label in a ledger that does not know the table yet; by default the table.
        parallel: How many tasks append a batch at once, 64 at most; by default one connection does.

    Raises:
        ConfigError: `sequence_by` without `keys`, `parallel` with `keys`, or no table.
    """

    kind: ClassVar[str] = "postgres"
    package: ClassVar[str] = "holdfast.sinks.postgres"
    choosing: ClassVar[Choosing | None] = Choosing(
        guarantee="exactly once; older drivers are fenced by the row of the ledger",
        reader_sees="whole batches: each is one transaction, with its ledger row",
        rights="`INSERT` and `SELECT` on the table, with `keys=` `UPDATE`; three tables of the "
        "ledger",
        runs_on="Spark 3.5 to 4.3, PostgreSQL 15",
        speed="3.0 times Spark's tuned JDBC writer, for 2 million rows appended",
        page="postgresql.md",
    )
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.SETTLE, Capability.CONTENTS}
    )
    drop_copy: ClassVar[str] = "DROP TABLE IF EXISTS {copy}"
    find_copies: ClassVar[str] = "holdfast.settled names each, in the column aside."

    dsn: Secret = field(repr=False)
    _: KW_ONLY
    table: str
    keys: Sequence[str] = ()  # type: ignore[assignment] # a tuple once it is made
    sequence_by: str | None = None
    name: str | None = None
    parallel: int | None = None

    def __post_init__(self) -> None:
        table: object = self.table
        check_label(self.name)
        check_secret(self.dsn, "dsn")
        if not isinstance(table, str) or not table:
            raise ConfigError("table= takes the name of a table.")
        object.__setattr__(self, "keys", check_keys(self.keys, self.sequence_by))
        if self.parallel is not None:
            _check_parallel(self.parallel, keys=self.keys)
        object.__setattr__(self, "name", self.name or self.table)

    @property
    def label(self) -> str:
        """Its label in a ledger that does not know the table yet."""
        return str(self.name)

    @property
    def display_name(self) -> str:
        """As people know it."""
        return f"the PostgreSQL table {self.table}"

    @property
    def place(self) -> str:
        """The table, and by what name its database is known: its address is a secret."""
        return f"postgresql:{self.table}@{shown_name(self.dsn)}"

    @property
    def secret(self) -> str | None:
        """The name of its DSN; None when a function returns it."""
        return shown_name(self.dsn) if isinstance(self.dsn, str) else None

    @property
    def why_not_sent(self) -> str | None:
        """Why another process cannot write its batches; None when it can."""
        if self.parallel is not None:
            return "parallel= is not supported there. Leave it out"
        if isinstance(self.dsn, str):
            return None
        return (
            "a function that returns the DSN cannot be sent without what it knows. Name an "
            "environment variable (env:NAME) or a file (file:PATH) of the server"
        )

    def resolve_writer(self, df: DataFrame, *, stream: str) -> SinkWriter:
        """Check a streaming DataFrame, and return what writes its batches; see `writer_for`."""
        part = "writer" if self.parallel is None else "parallel_writer"
        found: SinkWriter = self._part(part).resolve_writer(self, df, stream)
        return found

    @classmethod
    def from_contract(cls, contract: SinkContract) -> Postgres | None:
        """Return the sink that a contract tells of; None when a function returned its DSN.

        `parallel` is not in a contract: ledgers, plans and proofs see by the table how it is.
        """
        if contract.secret is None:
            return None
        place = contract.place.removeprefix("postgresql:")
        return cls(
            contract.secret,
            table=place.removesuffix(f"@{contract.secret}"),
            keys=contract.keys,
            sequence_by=contract.sequence_by,
            name=contract.label,
        )


def _check_parallel(given: object, *, keys: Sequence[str]) -> None:
    number = as_number("parallel", given)
    if not 1 <= number <= MOST_PARALLEL:
        raise ConfigError(f"parallel= takes a number from 1 to {MOST_PARALLEL}, not {number}.")
    if keys:
        raise ConfigError("parallel= appends batches as partitions: leave keys= out.")

"""`hf.Postgres`: a table of PostgreSQL as an exactly-once sink, as a user writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

from holdfast.errors import ConfigError, created_without_our_frames
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.merging import check_keys
from holdfast.sinks.secrets import Secret, shown_name
from holdfast.sinks.sink import Capability, SinkSpec

if TYPE_CHECKING:
    from holdfast.record.contracts import SinkContract


@created_without_our_frames
@dataclass(frozen=True)
class Postgres(SinkSpec):
    """A table of PostgreSQL: appended to, or merged into by `keys`.

    Args:
        dsn: `env:NAME`, `file:PATH`, or a function that returns it.
        table: The table, with its schema where it is not `public`.
        keys: Columns by which rows are merged; without them rows are appended.
        sequence_by: The column that says which of two rows with one key is newer.
        name: Its label in a ledger that does not know the table yet; by default the table.

    Raises:
        ConfigError: `sequence_by` without `keys`, or no table.
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

    def __post_init__(self) -> None:
        if not self.table:
            raise ConfigError("table= takes the name of a table.")
        object.__setattr__(self, "keys", check_keys(self.keys, self.sequence_by))
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
        if isinstance(self.dsn, str):
            return None
        return (
            "a function that returns the DSN cannot be sent without what it knows. Name an "
            "environment variable (env:NAME) or a file (file:PATH) of the server"
        )

    @classmethod
    def from_contract(cls, contract: SinkContract) -> Postgres | None:
        """Return the sink that a contract tells of; None when a function returned its DSN."""
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

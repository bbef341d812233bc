"""`hf.Database`: a table of MariaDB, MySQL, SQLite and others as a sink, as a user writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

from holdfast.errors import ConfigError, created_without_our_frames
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.merging import check_keys
from holdfast.sinks.options import check_label
from holdfast.sinks.secrets import Secret, check_secret, shown_name
from holdfast.sinks.sink import Capability, SinkSpec

if TYPE_CHECKING:
    from holdfast.record.contracts import SinkContract

LONGEST_LABEL = 190
"""Characters of the column that keeps it, which is part of a primary key."""


@created_without_our_frames
@dataclass(frozen=True)
class Database(SinkSpec):
    """A table of MariaDB, MySQL, SQLite, SQL Server or Oracle: appended to, or merged by `keys`.

    Args:
        url: `env:NAME`, `file:PATH`, or a function that returns the URL:
            `mariadb://user:password@host:3306/database`, `mysql://…`, `sqlite:////path/file.db`,
            `sqlserver://…` or `oracle://…`. The last two were never run.
        table: The table; with its database, where that is not the one of the URL.
        keys: Columns by which rows are merged; without them rows are appended.
        sequence_by: The column that says which of two rows with one key is newer.
        name: Its label in a ledger that does not know the table yet; by default the table.

    Raises:
        ConfigError: `sequence_by` without `keys`, or no table.
    """

    kind: ClassVar[str] = "database"
    package: ClassVar[str] = "holdfast.sinks.database"
    choosing: ClassVar[Choosing | None] = Choosing(
        guarantee="exactly once; older drivers are fenced by the row of the ledger",
        reader_sees="whole batches: each is one transaction, with its ledger row",
        rights="to read and change the table and the ledger's",
        runs_on="Spark 4.2; MariaDB 10.11, SQLite. MySQL is expected, not run; "
        "[SQL Server and Oracle](sql-server-and-oracle.md) are written, *not run*",
        speed="1.8 times Spark's JDBC writer into MariaDB by INSERT, 2.4 times by LOAD DATA",
        page="databases.md",
    )
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.SETTLE, Capability.CONTENTS}
    )
    drop_copy: ClassVar[str] = "DROP TABLE IF EXISTS `{copy}`"
    find_copies: ClassVar[str] = "They are tables of the database whose names begin with it."

    url: Secret = field(repr=False)
    _: KW_ONLY
    table: str
    keys: Sequence[str] = ()  # type: ignore[assignment] # a tuple once it is made
    sequence_by: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        table: object = self.table
        check_label(self.name)
        check_secret(self.url, "url")
        if not isinstance(table, str) or not table:
            raise ConfigError("table= takes the name of a table.")
        object.__setattr__(self, "keys", check_keys(self.keys, self.sequence_by))
        object.__setattr__(self, "name", self.name or self.table)
        if len(self.label) > LONGEST_LABEL:
            raise ConfigError(f"name= takes at most {LONGEST_LABEL} characters.")

    @property
    def label(self) -> str:
        """Its label in a ledger that does not know the table yet."""
        return str(self.name)

    @property
    def display_name(self) -> str:
        """As people know it."""
        return f"the table {self.table}"

    @property
    def place(self) -> str:
        """The table, and by what name its database is known: its address is a secret."""
        return f"database:{self.table}@{shown_name(self.url)}"

    @property
    def secret(self) -> str | None:
        """The name of its URL; None when a function returns it."""
        return shown_name(self.url) if isinstance(self.url, str) else None

    @classmethod
    def from_contract(cls, contract: SinkContract) -> Database | None:
        """Return the sink that a contract tells of; None when a function returned its URL."""
        if contract.secret is None:
            return None
        place = contract.place.removeprefix("database:")
        return cls(
            contract.secret,
            table=place.removesuffix(f"@{contract.secret}"),
            keys=contract.keys,
            sequence_by=contract.sequence_by,
            name=contract.label,
        )

"""`hf.Delta`: a Delta table as an exactly-once sink, as a user writes it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from holdfast.errors import ConfigError, created_without_our_frames
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.merging import check_keys
from holdfast.sinks.options import check_label
from holdfast.sinks.sink import Capability, SinkSpec
from holdfast.storage.location import parse_location, refuse_credentials, spark_location

if TYPE_CHECKING:
    from holdfast.record.contracts import SinkContract


CATALOG = "catalog:"
"""Before the name of a table whose location is not known yet."""


_RELATIVE = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*:)[^/]")
"""A path that neither has a scheme nor begins at the root."""


@created_without_our_frames
@dataclass(frozen=True, kw_only=True)
class Delta(SinkSpec):
    """A Delta table: appended to, or merged into by `keys`.

    Args:
        path: Of the table; a start creates it when it is not there.
        table: Its name in a catalog, instead of a path.
        keys: Columns by which rows are merged; without them rows are appended.
        sequence_by: The column that says which of two rows with one key is newer.
        name: Its label in a ledger that does not know the table yet; by default the last part
            of path or table.

    Raises:
        ConfigError: Not one of path and table, or `sequence_by` without `keys`.
        CredentialsInLocationError: The path holds credentials.
    """

    kind: ClassVar[str] = "delta"
    settles_with_spark: ClassVar[bool] = True
    package: ClassVar[str] = "holdfast.sinks.delta"
    choosing: ClassVar[Choosing | None] = Choosing(
        guarantee="exactly once; older drivers are fenced by the table's log. On S3 with several "
        "writers: with [the LogStore of Holdfast](delta-on-s3.md)",
        reader_sees="whole batches: each is one commit, with its ledger row",
        rights="to read, create and list files of the table",
        runs_on="Spark 3.5 to 4.2, Delta 3.3 to 4.4",
        speed="1.05 times the time of Delta's own sink, for 1 million rows appended",
        page="delta.md",
    )
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)

    path: str | None = None
    table: str | None = None
    keys: Sequence[str] = ()  # type: ignore[assignment] # a tuple once it is made
    sequence_by: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.table is None):
            raise ConfigError("A Delta sink is given by path= or by table=.")
        path: object = self.path
        if isinstance(path, os.PathLike):
            object.__setattr__(self, "path", os.fspath(path))
        given: object = self.table if self.path is None else self.path
        if not isinstance(given, str) or not given:
            raise ConfigError(f"path= and table= take text, not {given!r}.")
        check_label(self.name)
        refuse_credentials(str(self.path or self.table))
        if self.path is not None and _RELATIVE.match(self.path):
            # SQL takes no relative path, and a command is run in another directory.
            object.__setattr__(self, "path", os.path.abspath(self.path))  # noqa: PTH100 - as text
        object.__setattr__(self, "keys", check_keys(self.keys, self.sequence_by))
        object.__setattr__(
            self, "name", self.name or self.table or str(self.path).rstrip("/").rpartition("/")[2]
        )

    @property
    def label(self) -> str:
        """Its label in a ledger that does not know the table yet."""
        return str(self.name)

    @property
    def display_name(self) -> str:
        """As people know it."""
        return f"the Delta table {self.table or self.path}"

    @property
    def place(self) -> str:
        """Its path, or its name in the catalog."""
        return str(self.path or self.table)

    @property
    def why_not_sent(self) -> None:
        """None: its table is all that another process needs to write its batches."""
        return None

    @property
    def needs_own_session(self) -> bool:
        """Whether it sets what a program must not share: MERGE knows settings only."""
        return bool(self.keys)

    @classmethod
    def from_contract(cls, contract: SinkContract) -> Delta:
        """Return the sink that a contract tells of: by its location, or its name in a catalog."""
        name = contract.place.removeprefix(CATALOG)
        is_named = name != contract.place
        return cls(
            # As Spark's file systems know it; without Spark it is read the same.
            path=None if is_named else spark_location(parse_location(contract.place)),
            table=name if is_named else None,
            keys=contract.keys,
            sequence_by=contract.sequence_by,
            name=contract.label,
        )

"""`hf.Files`: a directory of Parquet, JSON or CSV files as an exactly-once sink."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar

from holdfast.errors import ConfigError, created_without_our_frames
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.options import as_columns, as_number, as_path
from holdfast.sinks.sink import Capability, SinkSpec
from holdfast.storage.location import parse_location, refuse_credentials, spark_location

if TYPE_CHECKING:
    from holdfast.record.contracts import SinkContract

FORMATS = ("parquet", "json", "csv")
MOST_FILES = 64
"""Of one batch, if nothing else is said."""
_RELATIVE = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*:)[^/]")
"""A path that neither has a scheme nor begins at the root."""


@created_without_our_frames
@dataclass(frozen=True)
class Files(SinkSpec):
    """A directory of files: every batch appears in it by one rename, or not at all.

    Args:
        path: The directory, on a disk or on HDFS. A start creates it when it is not there; what is
            beside it, hidden, is the sink's own.
        format: `parquet`, `json` or `csv`.
        partition_by: Columns that become directories of a batch, as Hive and Spark have them.
        max_files: How many files one batch may have; without `partition_by` fewer, larger ones are
            written, and with it a batch that would need more is refused.
        name: Its label in a ledger that does not know the directory yet; by default its name.

    Raises:
        ConfigError: The format is not one of these, or the columns are not a list of names.
        CredentialsInLocationError: The path holds credentials.
    """

    kind: ClassVar[str] = "files"
    package: ClassVar[str] = "holdfast.sinks.files"
    choosing: ClassVar[Choosing | None] = Choosing(
        guarantee="exactly once; an older driver has lost the path to its own rename",
        reader_sees="whole batches: each is one directory, which one rename makes visible",
        rights="to create, rename and remove directories, and one beside them",
        runs_on="Spark 4.2; a local disk, HDFS. Buckets are refused",
        speed="1.10 times the time of Spark's own Parquet stream, for 1 million rows",
        page="files.md",
    )
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)
    drop_copy: ClassVar[str] = "rm -r .NAME.holdfast/STREAM/kept/{copy}  # beside the directory"
    find_copies: ClassVar[str] = "They are below .NAME.holdfast/STREAM/kept, beside the directory."

    path: str
    _: KW_ONLY
    format: str = "parquet"
    partition_by: Sequence[str] = ()
    max_files: int = MOST_FILES
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", as_path(self.path))
        refuse_credentials(self.path)
        if self.format not in FORMATS:
            raise ConfigError(f"format= takes {', '.join(FORMATS)}, not {self.format!r}.")
        object.__setattr__(self, "partition_by", as_columns(self.partition_by))
        if as_number("max_files", self.max_files) < 1:
            raise ConfigError(f"max_files= takes a number from 1 on, not {self.max_files!r}.")
        if _RELATIVE.match(self.path):
            # A command is run in another directory.
            object.__setattr__(self, "path", os.path.abspath(self.path))  # noqa: PTH100 - as text
        label = self.name or self.path.rstrip("/").rpartition("/")[2]
        object.__setattr__(self, "name", label)

    @property
    def label(self) -> str:
        """Its label in a ledger that does not know the directory yet."""
        return str(self.name)

    @property
    def display_name(self) -> str:
        """As people know it."""
        return f"the files in {self.path}"

    @property
    def place(self) -> str:
        """The directory."""
        return self.path

    @classmethod
    def from_contract(cls, contract: SinkContract) -> Files:
        """Return the sink that a contract tells of: its ledger knows the format."""
        return cls(spark_location(parse_location(contract.place)), name=contract.label)

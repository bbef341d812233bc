"""`hf.Native`: one of Spark's own sinks under the guard, as a user writes it.

The stream has the lease, the contract and the history of every guarded stream. What the sink leaves
of the batches that it has is looked at when the stream starts. While it runs nothing of Holdfast is
between Spark and the sink: no batch is fenced, and exactly-once is not claimed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

from holdfast.errors import ConfigError, created_without_our_frames
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.native.formats import FORMATS, GUARDED_OPTIONS, REFUSED, Format
from holdfast.sinks.options import as_columns, as_path
from holdfast.sinks.sink import SinkSpec
from holdfast.storage.location import refuse_credentials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RELATIVE = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*:)[^/]")
"""A path that neither has a scheme nor begins at the root."""


@created_without_our_frames
@dataclass(frozen=True)
class Native(SinkSpec):
    """One of Spark's own sinks, guarded when it starts and not exactly-once.

    Args:
        format: `delta`, `kafka`, `console`, `noop`, or of files `parquet`, `json`, `csv`, `orc`,
            `text`, `avro`.
        path: Where a table or files are.
        table: The name of a Delta table in a catalog, instead of a path.
        options: As for Spark's writer.
        partition_by: Columns by which a table or files are partitioned.
        name: Its label in the record; by default its place, or its format.

    Raises:
        ConfigError: There is no such sink, it lacks a place, or an option is the guard's to set.
        CredentialsInLocationError: The path holds credentials.
    """

    kind: ClassVar[str] = "native"
    package: ClassVar[str] = "holdfast.sinks.native"
    choosing: ClassVar[Choosing | None] = Choosing(
        guarantee="that of Spark's sink, not exactly once; a start is refused by what Delta and "
        "files still hold, and nothing fences a batch",
        reader_sees="what Spark's sink shows: of files also those of batches that were killed, "
        "of Kafka also duplicates",
        rights="those of Spark's sink",
        runs_on="as Spark's sink; run on Spark 4.2",
        speed="that of Spark's sink",
        page="native-sinks.md",
    )

    format: str
    _: KW_ONLY
    path: str | None = None
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """They can hold passwords."""
    partition_by: Sequence[str] = ()
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", str(self.format).lower())
        object.__setattr__(self, "partition_by", as_columns(self.partition_by))
        if self.path is not None:
            object.__setattr__(self, "path", as_path(self.path))
        given: object = self.options
        if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in given):
            raise ConfigError("options= takes a mapping of names to texts.")
        object.__setattr__(self, "options", dict(given))
        _check_format(self)
        for option in self.options:
            if (why := GUARDED_OPTIONS.get(option.lower())) is not None:
                raise ConfigError(f"hf.Native does not take the option {option}: {why}.")
        refuse_credentials(str(self.path or self.table or ""))
        if self.path is not None and _RELATIVE.match(self.path):
            object.__setattr__(self, "path", os.path.abspath(self.path))  # noqa: PTH100 - as text
        object.__setattr__(self, "name", self.name or self.place.rstrip("/").rpartition("/")[2])

    @property
    def spark_sink(self) -> Format:
        """What Spark's sink needs and does not guarantee."""
        return FORMATS[self.format]

    @property
    def label(self) -> str:
        """Its label in the record."""
        return str(self.name)

    @property
    def display_name(self) -> str:
        """As people know it."""
        place = self.table or self.path or self.topic
        return f"Spark's own {self.format} sink{f' to {place}' if place else ''}"

    @property
    def topic(self) -> str | None:
        """The topic that Kafka's sink writes to; None when a column says it."""
        return self.options.get("topic") if self.format == "kafka" else None

    @property
    def place(self) -> str:
        """Its path, its table or its topic; of a sink that keeps nothing, its format."""
        return str(self.path or self.table or self.topic or self.format)

    @property
    def is_appending(self) -> bool:
        """Spark itself says which output modes its sink takes."""
        return False

    def open_ledger(
        self, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
    ) -> None:
        """Return None: Spark's sinks have no ledger."""
        del spark, options


def _check_format(sink: Native) -> None:
    found = FORMATS.get(sink.format)
    if found is None:
        why = REFUSED.get(sink.format, f"it takes {', '.join(sorted(FORMATS))}")
        raise ConfigError(f"hf.Native does not take the format {sink.format!r}: {why}.")
    places = (sink.path is not None) + (sink.table is not None)
    if found.needs_place != (places == 1) or places > 1:
        needed = "path= or table=" if found.takes_table else "path="
        raise ConfigError(
            f"The {sink.format} sink is given by {needed}."
            if found.needs_place
            else f"The {sink.format} sink takes no path= and no table=."
        )
    if sink.table is not None and not found.takes_table:
        raise ConfigError(f"The {sink.format} sink takes no table=.")
    if sink.partition_by and not found.is_partitioned:
        raise ConfigError(f"The {sink.format} sink takes no partition_by=.")

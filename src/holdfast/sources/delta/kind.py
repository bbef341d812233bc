"""Delta's offset: how far a table's log has been read.

From Delta 4.4 `DeltaSourceOffset.scala`:

    {"sourceVersion":1,"reservoirId":"<table id>","reservoirVersion":12,"index":-1,
     "isStartingVersion":false}

`index` -1 is before everything in that version; an end offset usually points at the next version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.sources.kind import ONLY, DescribedSource, Offset, Part, SourceKind, in_brackets


class Delta(SourceKind):
    """Delta tables."""

    name = "delta"
    label = "delta table"
    unit = "table version"
    asks = "holdfast.sources.delta.probe:ask_table"
    ranges = "holdfast.sources.delta.ranges:delta_range"
    per_chunk = 100
    parts_unit = "versions"
    starting_options = ("startingVersion", "startingTimestamp")
    reads_from_the_first = True
    continues_by_offset = True

    def parse(self, text: str) -> DeltaOffset | None:
        """Read Delta's offset."""
        found = parse_json_object(text) or {}
        table_id, initial = found.get("reservoirId"), found.get("isStartingVersion", False)
        version = whole_number(found.get("reservoirVersion"))
        index = whole_number(found.get("index"))
        if not isinstance(table_id, str) or version is None or index is None:
            return None
        if not isinstance(initial, bool):
            return None
        return DeltaOffset(
            table_id=table_id, version=version, index=index, initial_snapshot=initial
        )

    def describe_source(self, description: str) -> DescribedSource | None:
        """Read `DeltaSource[s3://lake/orders]`."""
        path = in_brackets(description, "DeltaSource")
        return None if path is None else DescribedSource(name=self.name, options={"path": path})

    def parse_position(self, value: object, known: Offset) -> Offset | None:
        """Read the number of a version."""
        number = whole_number(value)
        return None if number is None or number < 0 else known.at({ONLY: number})

    def example(self, known: Offset) -> str:
        """Say what is counted."""
        return "a version of the Delta table, such as 12"

    def by_options(self, options: Mapping[str, str], known: Offset) -> Offset | None:
        """Return the version that options name: Delta writes it down nowhere."""
        given = options.get("startingVersion", "0")
        if "startingTimestamp" in options or not given.isdecimal():
            return None
        return known.at({ONLY: int(given)})


DELTA = Delta()
KINDS = (DELTA,)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaOffset(Offset):
    """How far a Delta table has been read; ordered by version and index."""

    kind: ClassVar[SourceKind] = DELTA
    table_id: str
    version: int
    index: int
    initial_snapshot: bool
    """Whether it is still inside the snapshot that the stream began with."""

    @property
    def named(self) -> str:
        """Name the table by its id."""
        return f"delta table {self.table_id}"

    def describe(self, source: str) -> str:
        """Name the version, and the file in it."""
        shown = f"at table version {self.version:,}"
        return shown if self.index < 0 else f"{shown}, file {self.index}"

    @property
    def identities(self) -> tuple[str, ...]:
        """Return the id of the table."""
        return (f"table {self.table_id}",)

    def to_json(self) -> dict[str, Any]:
        """Return it as Delta writes it."""
        return {
            "sourceVersion": 1,
            "reservoirId": self.table_id,
            "reservoirVersion": self.version,
            "index": self.index,
            "isStartingVersion": self.initial_snapshot,
        }

    def numbers(self) -> Mapping[Part, int]:
        """Return the version that is read next."""
        return {ONLY: self.version}

    def at(self, numbers: Mapping[Part, int]) -> DeltaOffset:
        """Return the position before everything that another version has added."""
        return DeltaOffset(
            table_id=self.table_id, version=numbers[ONLY], index=-1, initial_snapshot=False
        )

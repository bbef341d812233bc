"""Reads the newest metadata file of an Iceberg table: its snapshots and their summaries.

From the Iceberg table specification: `metadata/<n>-<uuid>.metadata.json`, or `v<n>.metadata.json`
of a Hadoop catalog, with `.gz` in the name when it is compressed. The catalog knows which one is
current. The highest number is it, unless two writers raced: then two files have the same number,
and which of them counts cannot be told from the files.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

import msgspec

from holdfast.errors import ReadError
from holdfast.storage.read import Reader

DIRECTORY = "metadata"
MOST_BYTES = 256 << 20
"""Of one metadata file, unpacked: 100,000 snapshots have about 100 MB."""
_NAME = re.compile(r"(?:v(\d{1,9})|(\d{1,9})-[0-9a-fA-F-]+)(\.gz)?\.metadata\.json(\.gz)?")


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One snapshot of a table."""

    snapshot_id: int = msgspec.field(name="snapshot-id")
    parent_id: int | None = msgspec.field(name="parent-snapshot-id", default=None)
    timestamp_ms: int = msgspec.field(name="timestamp-ms")
    summary: Mapping[str, str] = msgspec.field(default_factory=dict)
    schema_id: int | None = msgspec.field(name="schema-id", default=None)

    @property
    def operation(self) -> str:
        """`append`, `replace`, `overwrite` or `delete`; empty when it is not said."""
        return self.summary.get("operation", "")


class Ref(msgspec.Struct, frozen=True, kw_only=True):
    """A branch or a tag."""

    snapshot_id: int = msgspec.field(name="snapshot-id")
    type: str = "branch"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table: known by its id, whatever it is called."""

    id: int
    name: str
    type: str | dict[str, object]
    """Text, or an object for what is nested."""


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a table, as they are or were."""

    schema_id: int = msgspec.field(name="schema-id", default=0)
    fields: tuple[Column, ...] = ()


class _Logged(msgspec.Struct, frozen=True, kw_only=True):
    path: str = msgspec.field(name="metadata-file", default="")


class _Metadata(msgspec.Struct, frozen=True, kw_only=True):
    uuid: str = msgspec.field(name="table-uuid", default="")
    current_id: int | None = msgspec.field(name="current-snapshot-id", default=None)
    properties: Mapping[str, str] = msgspec.field(default_factory=dict)
    snapshots: tuple[Snapshot, ...] = ()
    refs: Mapping[str, Ref] = msgspec.field(default_factory=dict)
    schemas: tuple[Schema, ...] = ()
    schema_id: int = msgspec.field(name="current-schema-id", default=0)
    log: tuple[_Logged, ...] = msgspec.field(name="metadata-log", default=())


_DECODER = msgspec.json.Decoder(_Metadata)


class IcebergTable(msgspec.Struct, frozen=True, kw_only=True):
    """What the newest metadata file says of a table."""

    path: str
    """Of the metadata file."""
    uuid: str
    current_id: int | None
    """The newest snapshot of `main`; None when the table has none."""
    properties: Mapping[str, str]
    snapshots: Mapping[int, Snapshot]
    """By their ids, in the order of the file: oldest first."""
    branches: tuple[int, ...] = ()
    """The newest snapshot of each other branch than `main`."""
    refs: Mapping[str, int] = {}
    """The snapshot of each branch and tag, by its name."""
    schemas: Mapping[int, Schema] = {}
    """Its columns, as they are and were, by the ids of the schemas."""
    schema_id: int = 0
    """Of its columns as they are."""
    older: tuple[str, ...] = ()
    """The metadata files before this one that the table still names, oldest first."""

    def history(self, newest: int | None = None) -> tuple[Snapshot, ...]:
        """Return the newest snapshot of a branch and those before it, newest first.

        It ends where a snapshot was expired.

        Args:
            newest: The newest snapshot of the branch; by default that of `main`.
        """
        found: dict[int, Snapshot] = {}
        wanted = self.current_id if newest is None else newest
        while wanted is not None and wanted not in found and wanted in self.snapshots:
            found[wanted] = self.snapshots[wanted]
            wanted = found[wanted].parent_id
        return tuple(found.values())


class NoTable(msgspec.Struct, frozen=True, kw_only=True):
    """Why the metadata of a table could not be read."""

    why: str
    """A sentence without a full stop."""


def read_table(table: Reader) -> IcebergTable | NoTable:
    """Read the newest metadata file of the table at the reader's location."""
    try:
        found = _find_newest(table)
        if isinstance(found, NoTable):
            return found
        raw = table.read(found, length=MOST_BYTES + 1)
    except ReadError as error:
        return NoTable(why=error.why.rstrip("."))
    if raw is None:
        return NoTable(why=f"{found} was listed and is gone")
    return parse_metadata(found, raw)


def _find_newest(table: Reader) -> str | NoTable:
    numbered: dict[int, list[str]] = {}
    for info in table.list(DIRECTORY).files:
        matched = _NAME.fullmatch(info.path.rpartition("/")[2])
        if matched is not None:
            numbered.setdefault(int(matched[1] or matched[2]), []).append(info.path)
    if not numbered:
        return NoTable(why=f"{DIRECTORY}/ has no metadata file of an Iceberg table")
    newest = numbered[max(numbered)]
    if len(newest) > 1:
        names = " and ".join(sorted(path.rpartition("/")[2] for path in newest))
        return NoTable(why=f"only the catalog knows which of {names} is current")
    return newest[0]


def parse_metadata(path: str, raw: bytes) -> IcebergTable | NoTable:
    """Read what a metadata file holds, packed or not."""
    if raw.startswith(b"\x1f\x8b"):
        unpacking = zlib.decompressobj(wbits=31)
        try:
            raw = unpacking.decompress(raw, MOST_BYTES + 1)
        except zlib.error:
            return NoTable(why=f"{path} is not a complete gzip file")
    if len(raw) > MOST_BYTES:
        return NoTable(why=f"{path} is larger than {MOST_BYTES >> 20} MB")
    try:
        found = _DECODER.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return NoTable(why=f"{path} is not the metadata of an Iceberg table")
    current = None if found.current_id in (None, -1) else found.current_id
    return IcebergTable(
        path=path,
        uuid=found.uuid,
        current_id=current,
        properties=found.properties,
        snapshots={each.snapshot_id: each for each in found.snapshots},
        branches=tuple(
            each.snapshot_id
            for name, each in found.refs.items()
            if name != "main" and each.type == "branch"
        ),
        refs={name: each.snapshot_id for name, each in found.refs.items()},
        schemas={each.schema_id: each for each in found.schemas},
        schema_id=found.schema_id,
        older=tuple(each.path for each in found.log if each.path),
    )

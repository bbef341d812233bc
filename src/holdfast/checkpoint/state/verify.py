"""Checks what describes the state against Hadoop's checksums, and finds directories among files.

A directory in the place of a file is found on local disk only: a store of objects has none that is
empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from holdfast.checkpoint.checksums import is_sidecar, is_stale, sidecar_of
from holdfast.checkpoint.layout import Kind, parse_name
from holdfast.checkpoint.state.files import StateFileKind
from holdfast.checkpoint.state.operators import parse_operator_metadata
from holdfast.checkpoint.state.schema import parse_state_schema
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.storage.read import Reader

_SUFFIXES = tuple(f".{each.suffix}" for each in StateFileKind)
_OF_FILES = (*_SUFFIXES, *(f"{each}.crc" for each in _SUFFIXES))


def find_directories(reader: Reader, homes: Collection[str]) -> Iterator[str]:
    """Yield directories that have the name of a state file, or of Hadoop's checksum of one.

    Args:
        reader: Of the checkpoint.
        homes: The directories of stores.
    """
    for home in homes if reader.location.is_local else ():
        for name in reader.list(home).directories:
            if name.endswith(_OF_FILES):
                yield f"{home}/{name}"


def find_schema_directories(reader: Reader, homes: Collection[str]) -> Iterator[Unparsed]:
    """Yield directories in the place of the schema of a store."""
    for home in homes if reader.location.is_local else ():
        if "schema" in reader.list(f"{home}/_metadata").directories:
            path = f"{home}/_metadata/schema"
            yield Unparsed(path=path, reason="it is a directory", spark_says="Is a directory")


def verify_descriptions(
    reader: Reader, paths: Collection[str]
) -> Iterator[tuple[str, bool | None]]:
    """Yield every checksum that does not fit its file, and every file without a checksum (None)."""
    there = set(paths)
    for path in paths:
        if parse_name(path).kind in (Kind.SIDECAR, Kind.TEMP):
            continue
        sidecar = sidecar_of(path)
        raw = read_whole(reader, sidecar) if sidecar in there else None
        if not is_sidecar(sidecar, raw):
            yield path, None
        if is_stale(sidecar, raw, read_whole(reader, path), parse=_parse):
            yield sidecar, False


def _parse(raw: bytes) -> object:
    """Return what metadata or a schema says; the schema is binary, and no text."""
    found = parse_operator_metadata("", None, raw)
    return parse_state_schema("", raw) if isinstance(found, Unparsed) else found

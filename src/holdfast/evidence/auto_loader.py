"""What a checkpoint tells of Databricks Auto Loader: its offsets, and when its schema changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from holdfast.checkpoint.layout import Kind, parse_name
from holdfast.checkpoint.read import Checkpoint
from holdfast.sources.auto_loader.kind import SCHEMAS, AutoLoaderOffset
from holdfast.sources.registry import offsets_of
from holdfast.storage.read import Reader


def find_auto_loader(checkpoint: Checkpoint) -> Iterator[tuple[str, AutoLoaderOffset]]:
    """Yield the sources of the newest offset entry that are Auto Loader's, with their offsets."""
    newest = checkpoint.newest_readable
    if newest is not None:
        yield from offsets_of(newest, AutoLoaderOffset).items()


def read_schema_times(reader: Reader, checkpoint: Checkpoint) -> dict[str, datetime]:
    """Return when each entry of the schema log was written; empty where it is not there.

    Raises:
        ReadError: The directory cannot be listed.
    """
    if SCHEMAS not in checkpoint.foreign:
        return {}
    return {
        info.path: info.modified
        for info in reader.list(SCHEMAS).files
        if parse_name(info.path).kind is Kind.ENTRY
    }


def newest_schema(times: Mapping[str, datetime]) -> tuple[int, datetime] | None:
    """Return the newest entry of the schema log and when it was written; None without any."""
    found = []
    for path, written in times.items():
        name = parse_name(path)
        if path.startswith(f"{SCHEMAS}/") and name.kind is Kind.ENTRY and name.batch_id is not None:
            found.append((int(name.batch_id), written))
    return max(found, default=None)

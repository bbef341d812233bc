"""Other checkpoints below a directory, as far as they can be mistaken for one, or compared."""

from __future__ import annotations

from holdfast.checkpoint.layout import METADATA
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.errors import ReadError
from holdfast.evidence.case import Neighbour
from holdfast.evidence.checkpoints_below import Found, Search
from holdfast.evidence.guard_record import GuardRecord
from holdfast.evidence.overview import Overview
from holdfast.storage.location import Location
from holdfast.storage.read import Reader


def find_neighbours(root: Reader, own: Checkpoint) -> tuple[Neighbour, ...]:
    """Return the checkpoints below a directory that can be read, without one and its replaced ones.

    Checkpoints that a stream adopted from elsewhere are left out.

    Args:
        root: Of the directory.
        own: The checkpoint that they are compared with.

    Raises:
        ReadError: The directory itself cannot be listed.
    """
    search = Search(root, _keep, open_at=_refuse)
    return tuple(
        _neighbour(root, found, found.summary)
        for found in search.run()
        if found.summary is not None and found.location != own.location
    )


def _keep(overview: Overview, _: GuardRecord | None) -> Overview:
    return overview


def _refuse(location: Location) -> Reader:
    raise ReadError(str(location), why="It is elsewhere.", how="Name the directory it is in.")


def _neighbour(root: Reader, found: Found[Overview], overview: Overview) -> Neighbour:
    checkpoint = overview.checkpoint
    metadata = checkpoint.metadata
    file = root.stat(f"{found.path}/{METADATA}")
    return Neighbour(
        location=str(found.location),
        query_id=metadata.query_id if isinstance(metadata, QueryMetadata) else "",
        newest_planned=max(checkpoint.offsets, default=-1),
        began_ms=None if file is None else round(file.modified.timestamp() * 1_000),
        newest_ms=overview.progress.newest_ms,
    )

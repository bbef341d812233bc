"""Which plain streams read what another one writes: found in their checkpoints.

An offset of a Delta source names the table by its id. The log of a file source names the files that
it has read. A topic, and what is written by code, is not found so.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.errors import LocationError, ReadError
from holdfast.evidence.checkpoints_below import Search
from holdfast.evidence.guard_record import GuardRecord
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.overview import Overview
from holdfast.formats.logged_paths import parse_logged_path
from holdfast.ids import BatchId
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.world import StreamNow, look_at_stream
from holdfast.sources.registry import parse_offset
from holdfast.storage.location import Location, is_inside, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader, read_chunks


def find_readers(now: StreamNow, looks: DiagnoseRequest) -> tuple[StreamNow, ...]:
    """Return the plain streams that read what a stream writes, directly or not.

    Args:
        now: The stream.
        looks: With `among`, where checkpoints are.

    Raises:
        ReadError: The directory or a checkpoint below it cannot be read.
    """
    if looks.among is None:
        return ()
    places = tuple(_search(open_reader(looks.among, looks.options)))
    found: dict[str, StreamNow] = {}
    waiting = [now]
    while waiting:
        writer = waiting.pop(0)
        for place, checkpoint in places:
            if str(place) == now.place or not _reads(checkpoint, place, writer):
                continue
            known = found.pop(str(place), None)  # it also comes after this writer
            there = replace(looks, location=str(place), root=None, probe=False)
            reader = known or look_at_stream(there, is_first=False)
            found[str(place)] = reader
            waiting.append(reader)
            if len(waiting) > len(places) ** 2:
                raise ReadError(
                    looks.among,
                    why="Streams below it read each other in a circle.",
                    how="Name a directory without one of them.",
                )
    return tuple(found.values())


def _search(root: Reader) -> Iterator[tuple[Location, Checkpoint]]:
    search = Search(root, _keep, open_at=_refuse)
    for each in search.run():
        if each.unread is not None:  # it may read the output
            how = each.remedy or "Make it readable, or name a directory without it."
            raise ReadError(str(each.location), why=each.unread, how=how)
        if each.summary is not None and each.replaced_by is None:
            yield each.location, each.summary.checkpoint


def _keep(overview: Overview, record: GuardRecord | None) -> Overview:
    del record
    return overview


def _refuse(location: Location) -> Reader:
    raise ReadError(str(location), why="It is elsewhere.", how="Name the directory it is in.")


def _reads(checkpoint: Checkpoint, place: Location, writer: StreamNow) -> bool:
    tables = {
        f"table {each.table_id}"
        for each in writer.case.outputs
        if isinstance(each, DeltaOutput) and each.table_id is not None
    }
    newest = checkpoint.offsets.get(BatchId(max(checkpoint.offsets, default=-1)))
    texts = [each.text or "" for each in newest.offsets] if isinstance(newest, OffsetEntry) else []
    if any(tables.intersection(parse_offset(each).identities) for each in texts):
        return True
    homes = [each.location for each in writer.directories]
    return bool(homes) and any(
        any(is_inside(path, home) for home in homes)
        for path in _files_read(checkpoint, writer, place)
    )


def _files_read(checkpoint: Checkpoint, writer: StreamNow, place: Location) -> Iterator[Location]:
    """Yield the directories of the files that the sources of a checkpoint have read."""
    reader = open_reader(place, writer.options)
    for log in checkpoint.sources:
        compact = log.compacts[-1:]
        since = (each for each in log.entries if not compact or each > compact[0])
        for number in (*compact, *since):
            name = f"{number}.compact" if number in log.compacts else str(number)
            path = f"sources/{log.name}/{name}"
            for each in parse_file_log(path, read_chunks(reader, path)):
                logged = parse_logged_path(each.path) if isinstance(each, FileEntry) else None
                try:
                    if logged is not None:
                        yield parse_location(logged.home)
                except LocationError:
                    continue

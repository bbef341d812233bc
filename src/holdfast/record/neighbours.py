"""Other streams of the same root: no two may share a checkpoint, or lie inside one another's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec

from holdfast.record.documents import RecordError
from holdfast.record.generations import Generation, read_generations
from holdfast.record.layout import HOME, is_stream_name
from holdfast.storage.location import Location, is_inside, parse_location
from holdfast.storage.read import Reader

_READERS = 16


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Another stream that has what this one would use."""

    stream: str
    generation: int
    why: str


class NeighbourError(RecordError):
    """The record of another stream is broken: whether it has this checkpoint is unknown."""

    code = "NEIGHBOUR_RECORD"

    def __init__(self, stream: str, error: RecordError) -> None:
        self.stream = stream
        """The other stream."""
        super().__init__(
            error.location,
            what=f"The record of another stream, {stream}, cannot be used: {error.location}.",
            why=f"{error.why} Whether {stream} has the same checkpoint is unknown.",
            how=error.how.removesuffix(error.repair).strip(),
            repair=error.repair,
        )


def find_conflict(
    root: Reader, stream: str, checkpoint: Location, *, query_id: str | None = None
) -> Conflict | None:
    """Return another stream that uses this checkpoint, lies around or inside it, or has its query.

    Args:
        root: Reads the root that the streams share.
        stream: The one that wants the checkpoint.
        checkpoint: Where it would run.
        query_id: In the checkpoint's `metadata`, when there is one: a copy has the same.

    Raises:
        ReadError: A record cannot be read.
        NeighbourError: No readable record has the checkpoint, and one record is broken.
    """
    # A directory of any other name is no stream's.
    others = [each for each in root.list(HOME).directories if each != stream]
    others = [each for each in others if is_stream_name(each)]
    broken: RecordError | None = None
    with ThreadPoolExecutor(_READERS) as pool:
        found = pool.map(lambda name: _generations_of(root, name), others)
        for name, generations in zip(others, found, strict=True):
            if isinstance(generations, RecordError):
                broken = broken or NeighbourError(name, generations)
                continue
            for generation in generations:
                if why := _conflicts(generation, checkpoint, query_id):
                    return Conflict(stream=name, generation=generation.number, why=why)
    if broken is not None:
        raise broken
    return None


def _generations_of(root: Reader, stream: str) -> list[Generation] | RecordError:
    try:
        return list(read_generations(root, below=f"{HOME}/{stream}/"))
    except RecordError as error:
        return error


def _conflicts(generation: Generation, checkpoint: Location, query_id: str | None) -> str | None:
    theirs = parse_location(generation.checkpoint)
    if theirs == checkpoint:
        return f"it runs on {checkpoint}"
    if is_inside(checkpoint, theirs):
        return f"{checkpoint} lies inside its checkpoint {theirs}"
    if is_inside(theirs, checkpoint):
        return f"its checkpoint {theirs} lies inside {checkpoint}"
    if query_id is not None and generation.query_id == query_id:
        return f"its checkpoint {theirs} has the same query id {query_id}: one is a copy"
    return None

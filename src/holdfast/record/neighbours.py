"""Other streams of the same root: no two may share a checkpoint, or lie inside one another's."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from holdfast.record.generations import Generation, read_generations
from holdfast.record.layout import HOME
from holdfast.storage.location import Location, parse_location
from holdfast.storage.read import Reader

_READERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Another stream that has what this one would use."""

    stream: str
    generation: int
    why: str


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
        ReadError, RecordError: A record cannot be read.
    """
    others = [name for name in root.list(HOME).directories if name != stream]
    with ThreadPoolExecutor(_READERS) as pool:
        found = pool.map(lambda name: list(_generations_of(root, name)), others)
        for name, generations in zip(others, found, strict=True):
            for generation in generations:
                if why := _conflicts(generation, checkpoint, query_id):
                    return Conflict(stream=name, generation=generation.number, why=why)
    return None


def _generations_of(root: Reader, stream: str) -> Iterator[Generation]:
    yield from read_generations(root, below=f"{HOME}/{stream}/")


def _conflicts(generation: Generation, checkpoint: Location, query_id: str | None) -> str | None:
    theirs = parse_location(generation.checkpoint)
    if theirs == checkpoint:
        return f"it runs on {checkpoint}"
    if _is_inside(checkpoint, theirs):
        return f"{checkpoint} lies inside its checkpoint {theirs}"
    if _is_inside(theirs, checkpoint):
        return f"its checkpoint {theirs} lies inside {checkpoint}"
    if query_id is not None and generation.query_id == query_id:
        return f"its checkpoint {theirs} has the same query id {query_id}: one is a copy"
    return None


def _is_inside(inner: Location, outer: Location) -> bool:
    same_store = (inner.scheme, inner.bucket) == (outer.scheme, outer.bucket)
    return same_store and f"{inner.path}/".startswith(f"{outer.path}/")

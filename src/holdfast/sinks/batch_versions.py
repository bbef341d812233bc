"""Which version of a table holds a stream just up to which batch, for all table formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a table, and what it says of a stream."""

    version: str
    generation: int
    last_batch: int


def newest_by_batch(versions: Iterable[Version]) -> Mapping[int, str]:
    """Return the newest version that holds a stream just up to each batch.

    Of the current generation only: in another one the same number is another batch. A plan may have
    set the row back to a batch and kept the rows of later ones: such a version does not count, nor
    does any other that comes after a later batch.

    Args:
        versions: As far back as they are known, the newest first.
    """
    found: dict[int, str] = {}
    generation = None
    for each in versions:
        generation = each.generation if generation is None else generation
        if each.generation != generation:
            break
        batch = each.last_batch
        if found and batch > min(found):
            found = {older: version for older, version in found.items() if older >= batch}
        found.setdefault(batch, each.version)
    return found

"""What a kind of sink says of itself to people who choose one.

The page *Choosing a sink* is written from these. A kind that is public has one; a test fails if it
has none.
"""

from __future__ import annotations

import msgspec


class Choosing(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of sink, in the words of the page; each field is a cell of Markdown."""

    guarantee: str
    """What holds after kills, lost answers and replaced drivers."""
    reader_sees: str
    """What a reader sees that knows nothing of Holdfast, also in the moment of a kill."""
    rights: str
    """What the stream may do at least, once everything is created."""
    runs_on: str
    """The versions of Spark and of the store."""
    speed: str
    """The headline figure with what it is compared with, or that it was not measured."""
    page: str
    """The guide, by its path below `docs/guides`."""

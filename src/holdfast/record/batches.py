"""Batches written down before they go to several sinks, so that each gets the same rows.

    batches/0001-000041-d4….json     which rows batch 41 of generation 1 has: made once
    batches/0001-000041-e8/…         the rows, as the driver of epoch 8 computed them

A batch that is run again is computed again, and may come out differently: what one sink holds
already, the others must get too. The first driver that has written all rows makes the file; what
another has written meanwhile is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.record.documents import Document, create, read_document
from holdfast.record.layout import BATCHES, batch_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_NAME = re.compile(r"([0-9]{4,})-([0-9]{6,})-[a-z0-9]+(\.json)?")


class JournalledBatch(Document, frozen=True, kw_only=True, tag="holdfast.batch"):
    """One batch that was written down."""

    generation: int
    batch: int
    digest: str
    rows: str
    """The path of its rows in the record."""


def rows_path(generation: int, batch: int, *, epoch: int) -> str:
    """Return where the driver of an epoch writes the rows of a batch."""
    return batch_path(generation, batch, f"e{epoch}")


def read_journalled(
    reader: Reader, generation: int, batch: int, *, digest: str
) -> JournalledBatch | None:
    """Return the batch as it was written down; None when it was not, or not to its end."""
    path = f"{batch_path(generation, batch, f'd{digest[:16]}')}.json"
    found = read_document(reader, path, JournalledBatch)
    return found if found is not None and found.digest == digest else None


def keep_journalled(writer: Writer, journalled: JournalledBatch) -> bool:
    """Make the file of a batch whose rows are all there; False when another driver was faster."""
    name = batch_path(journalled.generation, journalled.batch, f"d{journalled.digest[:16]}")
    return create(writer, f"{name}.json", journalled)


def forget_before(writer: Writer, generation: int, batch: int) -> None:
    """Delete the batches before one: every sink holds them."""
    listing = writer.list(BATCHES)
    names = [info.path.rpartition("/")[2] for info in listing.files]
    for name in _before(names, generation, batch):  # first, so that no file names rows half gone
        writer.delete(f"{BATCHES}/{name}")
    for name in _before(listing.directories, generation, batch):
        for info in list(writer.walk(f"{BATCHES}/{name}")):
            writer.delete(info.path)


def _before(names: list[str] | tuple[str, ...], generation: int, batch: int) -> Iterator[str]:
    for name in names:
        found = _NAME.fullmatch(name)
        if found and (int(found[1]), int(found[2])) < (generation, batch):
            yield name

"""Batches written down before they go to several sinks, so that each gets the same rows.

    batches/0001-000041-d4….json     which rows batch 41 of generation 1 has: made once
    batches/0001-000041-e8/…         the rows, as the driver of epoch 8 computed them

A batch that is run again is computed again, and may come out differently: what one sink holds
already, the others must get too. The first driver that has written all rows makes the file; what
another has written meanwhile is not used. Rows are only ever read from the directory that the
batch and an epoch up to the current one give, and never through a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from holdfast.errors import UnsafePathError
from holdfast.record.bounds import BatchNumber, Digest, GenerationNumber, PathText
from holdfast.record.documents import Document, create, read_document, refuse
from holdfast.record.layout import BATCHES, batch_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_NAME = re.compile(r"([0-9]{4,18})-([0-9]{6,19})-[a-z0-9]+(\.json)?")
_EPOCH = re.compile(r".*-e([1-9][0-9]{0,8})")


class JournalledBatch(Document, frozen=True, kw_only=True, tag="holdfast.batch"):
    """One batch that was written down."""

    generation: GenerationNumber
    batch: BatchNumber
    digest: Digest
    rows: PathText
    """The path of its rows in the record."""

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return _path(self.generation, self.batch, self.digest)


def rows_path(generation: int, batch: int, *, epoch: int) -> str:
    """Return where the driver of an epoch writes the rows of a batch."""
    return batch_path(generation, batch, f"e{epoch}")


def read_journalled(
    reader: Reader, generation: int, batch: int, *, digest: str, epoch: int
) -> JournalledBatch | None:
    """Return the batch as it was written down; None when it was not, or not to its end.

    Args:
        reader: Of the stream's record.
        generation: The current one.
        batch: Its number.
        digest: Of what it covers.
        epoch: The current one: no later driver can have written rows.

    Raises:
        RecordError: The file is not what Holdfast writes, or its rows lead elsewhere.
        ReadError: The store did not let us read it.
    """
    path = _path(generation, batch, digest)
    found = read_document(reader, path, JournalledBatch)
    if found is None:
        return None
    if found.digest != digest:
        raise refuse(reader, path, why="It is of another batch of the same number.")
    matched = _EPOCH.fullmatch(found.rows)
    written = int(matched[1]) if matched else 0
    if not 1 <= written <= epoch or found.rows != rows_path(generation, batch, epoch=written):
        own = rows_path(generation, batch, epoch=epoch)
        why = f"It names the rows {found.rows}; up to this start they can be in {own} or earlier."
        raise refuse(reader, path, why=why)
    _check_rows(reader, found)
    return found


def keep_journalled(writer: Writer, journalled: JournalledBatch) -> bool:
    """Make the file of a batch whose rows are all there; False when another driver was faster."""
    return create(writer, journalled)


def list_journalled(reader: Reader, generation: int, *, first: int) -> list[str]:
    """Return the files of the batches of a generation from a number on that were written down.

    Raises:
        ReadError: The record cannot be listed.
    """
    names = (info.path.rpartition("/")[2] for info in reader.list(BATCHES).files)
    found = ((name, _NAME.fullmatch(name)) for name in names)
    return sorted(
        f"{BATCHES}/{name}"
        for name, parts in found
        if parts and parts[3] and int(parts[1]) == generation and int(parts[2]) >= first
    )


def find_journalled(
    reader: Reader, generation: int, batch: int, *, digest: str
) -> JournalledBatch | None:
    """Return what says where the rows of a batch are; None when it was not written down.

    Raises:
        RecordError: The file is not what Holdfast writes.
        ReadError: The store did not let us read it.
    """
    return read_document(reader, _path(generation, batch, digest), JournalledBatch)


def of_generation(journalled: JournalledBatch, generation: int) -> JournalledBatch:
    """Return a batch as a later generation of the same checkpoint has it, with rows of its own."""
    matched = _EPOCH.fullmatch(journalled.rows)
    rows = rows_path(generation, journalled.batch, epoch=int(matched[1]) if matched else 1)
    return msgspec.structs.replace(journalled, generation=generation, rows=rows)


def forget_before(writer: Writer, generation: int, batch: int) -> None:
    """Delete the batches before one: every sink holds them.

    Those of the generation before stay: a sink may lack one of them, and an undo goes back to it.
    """
    listing = writer.list(BATCHES)
    names = [info.path.rpartition("/")[2] for info in listing.files]
    for name in _before(names, generation, batch):  # first, so that no file names rows half gone
        writer.delete(f"{BATCHES}/{name}")
    for name in _before(listing.directories, generation, batch):
        for info in list(writer.walk(f"{BATCHES}/{name}")):
            writer.delete(info.path)


def _path(generation: int, batch: int, digest: str) -> str:
    return f"{batch_path(generation, batch, f'd{digest[:16]}')}.json"


def _check_rows(reader: Reader, journalled: JournalledBatch) -> None:
    """Refuse rows that are gone, that are a link to elsewhere, or a pipe that Spark waits for."""
    is_on_disk = reader.location.is_local  # a bucket has neither links nor pipes
    try:
        paths = [info.path for info in reader.walk(journalled.rows)]
        bad = [path for path in paths if is_on_disk and reader.stat(path) is None]
    except UnsafePathError as error:
        raise refuse(reader, journalled.path, why=f"{error.what} {error.why}") from error
    if bad or not paths:
        why = f"{bad[0]} is not a file." if bad else f"There are no rows in {journalled.rows}."
        raise refuse(reader, journalled.path, why=why)


def _before(names: list[str] | tuple[str, ...], generation: int, batch: int) -> Iterator[str]:
    for name in names:
        found = _NAME.fullmatch(name)
        if found is None:
            continue
        of, number = int(found[1]), int(found[2])
        if of < generation - 1 or (of == generation and number < batch):
            yield name

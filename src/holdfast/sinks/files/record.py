"""What a token and a batch carry: a ledger row, and what it is about; as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.row_json import row_from, row_values
from holdfast.sinks.files.layout import BatchName

TOKEN_FORMAT, BATCH_FORMAT, VERSION = "holdfast.files-token", "holdfast.files-batch", 1


class Span(msgspec.Struct, frozen=True, array_like=True):
    """Batches of one generation, from the first to the last."""

    generation: int
    first: int
    last: int

    def holds(self, batch: BatchName) -> bool:
        """Return whether a batch is one of them."""
        return batch.generation == self.generation and self.first <= batch.batch <= self.last


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What a token stands for."""

    row: LedgerRow
    """Before the batches that were published since; with the epoch that may publish."""
    format: str
    live: tuple[Span, ...] = ()
    """Older batches that readers see; those that were published since are seen too."""
    opened: tuple[Span, ...] = ()
    """Those among them that the opening of the row's generation has put back."""
    aside: str | None = None
    """Where the other batches of the stream go; None: that is done."""
    back: str | None = None
    """Where live batches come back from; None: that is done."""

    def is_live(self, batch: BatchName) -> bool:
        """Return whether readers are to see a batch of the stream."""
        return self.is_since(batch) or any(span.holds(batch) for span in self.live)

    def is_since(self, batch: BatchName) -> bool:
        """Return whether a batch was published since the record was written."""
        return batch.generation == self.row.generation and batch.batch > self.row.last_batch


class BatchNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch carries."""

    row: LedgerRow
    """After the batch."""
    files: Mapping[str, int]
    """Its data files, by path, with their sizes."""
    columns: Mapping[str, str]
    """Its columns and their types, as Spark names them."""
    partition_by: tuple[str, ...] = ()
    """The columns that are directories of it, from the outermost on."""


def spans_of(batches: Iterable[BatchName]) -> tuple[Span, ...]:
    """Return batches of one stream as spans."""
    found: list[Span] = []
    for each in sorted(batches):
        last = found[-1] if found else None
        if last is not None and (last.generation, last.last + 1) == (each.generation, each.batch):
            found[-1] = Span(last.generation, last.first, each.batch)
        else:
            found.append(Span(each.generation, each.batch, each.batch))
    return tuple(found)


def encode_record(record: Record) -> tuple[str, bytes]:
    """Return the name of a record, which follows from what it says, and the record as JSON."""
    values = {
        "format": TOKEN_FORMAT,
        "version": VERSION,
        **row_values(record.row),
        "files": record.format,
        "live": record.live,
        "opened": record.opened,
        "aside": record.aside,
        "back": record.back,
    }
    data = msgspec.json.encode(values)
    return hashlib.sha256(data).hexdigest()[:32], data


def decode_record(data: bytes) -> Record | None:
    """Return the record that JSON has; None when it is not one, or of a newer version."""
    values = _values(data, TOKEN_FORMAT)
    row = row_from(values)
    live, opened = (_spans(values.get(name)) for name in ("live", "opened"))
    aside, back = values.get("aside"), values.get("back")
    kind = values.get("files")
    if row is None or live is None or opened is None or not isinstance(kind, str):
        return None
    if not isinstance(aside, str | None) or not isinstance(back, str | None):
        return None
    return Record(row=row, format=kind, live=live, opened=opened, aside=aside, back=back)


def encode_note(note: BatchNote) -> bytes:
    """Return a note as JSON."""
    values = {"format": BATCH_FORMAT, "version": VERSION, **row_values(note.row)}
    values |= {"files": note.files, "columns": note.columns, "partition_by": note.partition_by}
    return msgspec.json.encode(values)


def decode_note(data: bytes, batch: BatchName) -> BatchNote | None:
    """Return the note of a batch; None when it is not one, or of another batch."""
    values = _values(data, BATCH_FORMAT)
    row = row_from(values)
    files, columns = values.get("files"), values.get("columns")
    if row is None or (row.stream, row.generation, row.last_batch) != (
        batch.stream,
        batch.generation,
        batch.batch,
    ):
        return None
    partitions = values.get("partition_by")
    if not isinstance(files, dict) or not isinstance(columns, dict):
        return None
    if not isinstance(partitions, list):
        return None
    sizes = {str(path): whole_number(size) for path, size in files.items()}
    known = {path: size for path, size in sizes.items() if size is not None}
    if len(known) != len(sizes):
        return None
    return BatchNote(
        row=row,
        files=known,
        columns={name: str(kind) for name, kind in columns.items()},
        partition_by=tuple(map(str, partitions)),
    )


def _values(data: bytes, kind: str) -> Mapping[str, object]:
    values = parse_json_object(data.decode(errors="replace")) or {}
    is_known = (values.get("format"), values.get("version")) == (kind, VERSION)
    return values if is_known else {}


def _spans(given: object) -> tuple[Span, ...] | None:
    if not isinstance(given, Sequence) or isinstance(given, str):
        return None
    found = []
    for each in given:
        numbers = [whole_number(number) for number in each] if isinstance(each, list) else []
        known = [number for number in numbers if number is not None]
        if len(known) != 3 or len(numbers) != 3:
            return None
        found.append(Span(*known))
    return tuple(found)

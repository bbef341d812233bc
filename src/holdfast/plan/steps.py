"""What a plan does, step by step. A step names everything that it touches.

Nothing is decided when a step is carried out: it is *not done*, *done*, or the world is neither as
the step found it nor as the step leaves it, and then the plan is stale. So a step can be carried
out again after a kill, and the steps that undo a plan follow from the steps of its journal.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.ids import BatchId, QueryId
from holdfast.ledger.output import Output
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.record.bounds import Digest, PathText
from holdfast.record.contracts import SinkContract
from holdfast.record.layout import GENERATIONS

StreamName = Annotated[str, Meta(pattern=r"\A[a-z0-9][a-z0-9-]{0,62}\Z")]
Reason = Annotated[str, Meta(max_length=4096)]
Marker = Annotated[str, Meta(pattern=r"\A(metadata)?\Z")]


class Permission(StrEnum):
    """What a plan may do only if the operator allows it by name."""

    REPEATS_DATA = "repeats-data"
    """Rows that a sink already holds may be written to it again."""
    SKIPS_DATA = "skips-data"
    """Records of the source never reach the sink."""
    DESTRUCTIVE = "destructive"
    """Rows of a sink, or state of the query, are taken away; a copy is kept for undo."""
    UNGUARDED = "unguarded"
    """A stream is changed that no lease shows to be stopped."""
    BY_HAND = "by-hand"
    """Something is left to the operator, who says that it is done."""


class _Step(msgspec.Struct, frozen=True, kw_only=True, tag_field="step"):
    """What all steps have."""

    stream: StreamName
    why: Reason
    """Why the step is there, for `--explain`."""


class PutFile(_Step, frozen=True, kw_only=True, tag="put-file"):
    """Write one file of a checkpoint or a record; what it replaces is copied aside first."""

    place: PathText
    """The directory that the path is below."""
    path: PathText
    content: str
    replaces: Digest | None = None
    """SHA-256 of what is there now; None: nothing is."""


class RemoveFile(_Step, frozen=True, kw_only=True, tag="remove-file"):
    """Remove one file, after it was copied into the journal and the copy was compared."""

    place: PathText
    path: PathText
    sha256: Digest


class RestoreFile(_Step, frozen=True, kw_only=True, tag="restore-file"):
    """Write one file as a journal has kept it."""

    place: PathText
    path: PathText
    kept: PathText
    """Where the journal has it."""
    sha256: Digest
    replaces: Digest | None = None
    """SHA-256 of what is there now; None: nothing is."""


class CopyTree(_Step, frozen=True, kw_only=True, tag="copy-tree"):
    """Copy every file below a directory to another one, and compare the copies."""

    source: PathText
    target: PathText
    fingerprint: Digest
    """Of what is to be copied: its paths and sizes."""
    files: int
    size_bytes: int
    leaves_out: tuple[PathText, ...] = ()
    """Paths that are not copied, because another step writes them."""


class RemoveTree(_Step, frozen=True, kw_only=True, tag="remove-tree"):
    """Remove the copies that a `CopyTree` made, after they were compared with what was copied."""

    source: PathText
    """What was copied, and is still there."""
    target: PathText
    fingerprint: Digest
    leaves_out: tuple[PathText, ...] = ()


class DiscardTree(_Step, frozen=True, kw_only=True, tag="discard-tree"):
    """Delete every file below a directory for good."""

    place: PathText
    files: int
    fingerprint: Digest | None = None
    """Of what is deleted: its paths and sizes. None in plans of older versions: not applied."""


class HoldTree(_Step, frozen=True, kw_only=True, tag="hold-tree"):
    """Copy a directory aside and empty it; its marker keeps Spark from starting meanwhile."""

    place: PathText
    aside: PathText
    """Where everything in it is copied to, and compared."""
    fingerprint: Digest
    """Of what is there: its paths and sizes."""
    files: int
    size_bytes: int
    marker: Marker = ""
    """The file that says so: `metadata` of a checkpoint, which Spark then cannot read. Empty for
    a directory that no query starts from."""
    marked: Digest | None = None
    """SHA-256 of that file, as it is before; None without one."""


class FillTree(_Step, frozen=True, kw_only=True, tag="fill-tree"):
    """Put files into a directory that is held; its marker is replaced last."""

    place: PathText
    fingerprint: Digest
    """Of what was there before it was held."""
    source: PathText | None = None
    """The directory that files are copied from; None: only what is written out here."""
    leaves_out: tuple[PathText, ...] = ()
    """Of the source: what is not copied."""
    contents: dict[str, str] = {}
    """What is written, by path."""
    marker: Marker = ""
    stays: tuple[Reason, ...] = ()
    """Outputs that stay as they are: what the program writes into them from now on stays too."""
    stays_with_log: tuple[PathText, ...] = ()
    """Of those, where a `_spark_metadata` is: Spark leaves out the batches that it has."""


class MoveSource(_Step, frozen=True, kw_only=True, tag="move-source"):
    """Let a Delta source go on after the commit that gave its table the rows back.

    The query had read all of the table. Delta would refuse the commits that emptied and refilled
    it, or hand out the rows a second time.
    """

    place: PathText
    """The checkpoint."""
    path: PathText
    """One of the two newest entries of its offset log: at a start, Spark reads from one to the
    other."""
    sha256: Digest
    """Of that entry, without the versions that it names."""
    table_id: str
    sink: SinkContract
    """The table."""
    writer: StreamName
    """The stream that writes it: its ledger row came with the rows."""


class ByHand(_Step, frozen=True, kw_only=True, tag="by-hand"):
    """Something that Holdfast cannot do: who applies the plan says that it is done."""

    what: Reason


class RowValue(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger row, as a plan names it."""

    sink: str
    generation: int
    epoch: int
    nonce: str
    query_id: str
    checkpoint: str
    last_batch: int
    digest: str | None
    end_offsets: str


class SettleSink(_Step, frozen=True, kw_only=True, tag="settle-sink"):
    """Bring a sink's rows and its ledger row to a named state, in the one step that fences it."""

    sink: SinkContract
    old: RowValue | None
    new: RowValue
    """Its epoch and nonce are those of whoever applies the plan."""
    output: Output


class WriteRange(_Step, frozen=True, kw_only=True, tag="write-range"):
    """Write a range of the sources of a stream into its sinks, chunk by chunk, beside the stream.

    Its `stream` is the name of the backfill in the ledgers: each chunk is one of its batches.
    """

    start: str
    """The position that it begins at, as canonical JSON."""
    end: str
    """The position that it ends before."""
    chunks: Annotated[int, Meta(ge=1)]
    sinks: Annotated[tuple[SinkContract, ...], Meta(min_length=1)]


FileStep = PutFile | RemoveFile | RestoreFile
TreeStep = CopyTree | RemoveTree | DiscardTree
HeldStep = HoldTree | FillTree
Step = FileStep | TreeStep | HeldStep | SettleSink | WriteRange | MoveSource | ByHand


def is_generation(step: Step) -> bool:
    """Return whether a step writes down a generation."""
    return isinstance(step, PutFile) and step.path.startswith(f"{GENERATIONS}/")


def digest_of(content: str | bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def row_value(row: LedgerRow) -> RowValue:
    """Return a ledger row as a plan names it."""
    return RowValue(
        sink=row.sink,
        generation=row.generation,
        epoch=row.epoch,
        nonce=row.nonce,
        query_id=row.binding.query_id,
        checkpoint=row.binding.checkpoint,
        last_batch=row.last_batch,
        digest=row.digest,
        end_offsets=row.end_offsets,
    )


def ledger_row(stream: str, value: RowValue) -> LedgerRow:
    """Return the ledger row that a plan names."""
    return LedgerRow(
        stream=stream,
        sink=value.sink,
        generation=value.generation,
        epoch=value.epoch,
        nonce=value.nonce,
        binding=Binding(query_id=QueryId(value.query_id), checkpoint=value.checkpoint),
        last_batch=BatchId(value.last_batch),
        digest=value.digest,
        end_offsets=value.end_offsets,
    )


def says_the_same(one: RowValue | None, other: RowValue | None) -> bool:
    """Return whether two rows say the same of the data, whoever may write."""
    if one is None or other is None:
        return one is other
    bare = {"epoch": 0, "nonce": ""}
    return msgspec.structs.replace(one, **bare) == msgspec.structs.replace(other, **bare)

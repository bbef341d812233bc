"""What must still hold when a plan is applied; else the plan is refused."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from holdfast.plan.steps import RowValue, StreamName, digest_of
from holdfast.record.bounds import Digest, PathText
from holdfast.record.contracts import SinkContract
from holdfast.storage.read import FileInfo


class _Precondition(msgspec.Struct, frozen=True, kw_only=True, tag_field="holds"):
    """What all preconditions have."""

    stream: StreamName


class FileIs(_Precondition, frozen=True, kw_only=True, tag="file-is"):
    """A file that the plan was made from is as it was."""

    place: PathText
    path: PathText
    sha256: Digest | None
    """None: there is no such file."""


class ListingIs(_Precondition, frozen=True, kw_only=True, tag="listing-is"):
    """A directory has the files that it had: their names and sizes."""

    place: PathText
    directory: str
    fingerprint: Digest


class TreeIs(_Precondition, frozen=True, kw_only=True, tag="tree-is"):
    """Everything below a directory is as it was: paths and sizes."""

    place: PathText
    fingerprint: Digest


class GenerationIs(_Precondition, frozen=True, kw_only=True, tag="generation-is"):
    """The current generation of the stream is the same."""

    number: int
    """0: the stream has no record."""


class LedgerIs(_Precondition, frozen=True, kw_only=True, tag="ledger-is"):
    """The sink's ledger row and the table itself are as they were."""

    sink: SinkContract
    row: RowValue | None
    table: str | None
    """What tells the table's content apart; None when the sink has nothing that tells."""


class TopicHolds(_Precondition, frozen=True, kw_only=True, tag="topic-holds"):
    """A Kafka topic still has everything from these offsets on."""

    servers: str
    topic: str
    offsets: tuple[tuple[int, int], ...]
    """Each partition, and the first offset of it that will be read."""


Precondition = FileIs | ListingIs | TreeIs | GenerationIs | LedgerIs | TopicHolds


def fingerprint(files: Iterable[FileInfo]) -> str:
    """Return what tells a set of files apart: their paths and sizes."""
    return digest_of("\n".join(sorted(f"{each.path} {each.size_bytes}" for each in files)))

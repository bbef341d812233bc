"""What is known of one checkpoint, and what follows from it for the next start."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.checkpoint.layout import STATE
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.next_start import NEWEST_SPARK, predict_next_start
from holdfast.evidence.outcomes import NextStart, Refuses
from holdfast.evidence.query import Query
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.evidence.state import Looked
from holdfast.evidence.state_content import StoreContent, seen_by
from holdfast.evidence.versions import Readers, Writers, find_readers, find_writers
from holdfast.spark_versions import SparkVersion, version_text


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a checkpoint."""

    checkpoint: Checkpoint
    stores: tuple[StoreContent, ...]
    """The stores that the next start loads, looked into; none where there is no state, or where
    it was not looked at."""
    pending_files: Mapping[str, int] = msgspec.field(default_factory=dict)
    """How many files the newest batch has of each file source, where it is pending."""

    @property
    def looked(self) -> Looked:
        """What looking into state files has shown."""
        return seen_by(self.stores)

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """What is there and was not looked at, each with the reason; empty when all was."""
        return left_out_of(self.checkpoint)

    @property
    def writers(self) -> Writers:
        """The versions of Spark that can have written the checkpoint."""
        if self.looked.by_4_0:
            return Writers(versions=((4, 0),), follows_from=self.looked.by_4_0)
        return find_writers(self.checkpoint)

    @property
    def readers(self) -> Readers:
        """The versions of Spark that can read the checkpoint."""
        if self.looked.by_4_0:
            because = f"{self.looked.by_4_0[0]} has a format that only Spark 4.0 can read"
            return Readers(versions=((4, 0),), because=(because,))
        return find_readers(self.checkpoint)

    @property
    def spark(self) -> SparkVersion:
        """The newest version that can have written the checkpoint."""
        return max(self.writers.versions, default=NEWEST_SPARK)

    def next_start(
        self, spark: SparkVersion | None = None, *, query: Query | None = None
    ) -> NextStart:
        """Say what the next start will do.

        Args:
            spark: The version that will be started; by default the newest that can have written it.
            query: What is known of the query that will be started; by default that it is the same.
        """
        version, readers = spark or self.spark, self.readers
        if readers.because and version[:2] not in readers.versions:
            because = f"Spark {version_text(version)} cannot read it: {readers.because[0]}"
            code = RefusalCode.VERSION_NOT_READABLE
            return Refuses(code=code, error="STREAM_FAILED", because=because, follows_from=())
        return predict_next_start(self.checkpoint, spark=version, query=query, looked=self.looked)


def left_out_of(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Return what was not looked at in a checkpoint, each with the reason."""
    notes = []
    if checkpoint.first_read is not None:
        before = f"log entries before batch {checkpoint.first_read}"
        notes.append(f"{before}: a start does not need them")
    notes += [
        f"{path}: only its beginning and its end were read"
        for log in checkpoint.sources
        for path in log.partly_read
    ]
    notes += [
        f"{path}: it was listed and not read"
        for log in checkpoint.sources
        for path in log.listed_only
    ]
    if checkpoint.state_unread is not None:
        notes.append(f"{STATE}/: {checkpoint.state_unread}")
    return tuple(notes)

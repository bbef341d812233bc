"""Spark's files as frozen values: says what is there, not whether it is good. Needs no Spark."""

from __future__ import annotations

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import OffsetEntry, SourceOffset
from holdfast.checkpoint.read import Checkpoint, read_checkpoint
from holdfast.checkpoint.unparsed import Unparsed

__all__ = [
    "Checkpoint",
    "CommitEntry",
    "OffsetEntry",
    "QueryMetadata",
    "SourceOffset",
    "Unparsed",
    "read_checkpoint",
]

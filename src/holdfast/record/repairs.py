"""Repairs: which plans were begun on a stream, and which have ended.

Each is two small files: one before the first step, one after the last. A plan that was begun and
has not ended leaves a stream half changed, so no start and no other plan may touch it. The files of
all repairs of a stream are one listing.
"""

from __future__ import annotations

import re
from shlex import quote
from typing import Annotated

from msgspec import Meta

from holdfast.record.bounds import Line, PathText, Timestamp
from holdfast.record.documents import Document, create, find_names, read_document
from holdfast.record.layout import REPAIRS, repair_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

RepairId = Annotated[str, Meta(pattern=r"\A[0-9]{8}-[0-9]{6}-[0-9a-f]{6}\Z")]
_NAME = re.compile(r"([0-9]{8}-[0-9]{6}-[0-9a-f]{6})-(begun|ended)\.json")


class RepairBegun(Document, frozen=True, kw_only=True, tag="holdfast.repair-begun"):
    """A plan that may have changed the stream."""

    id: RepairId
    goal: Line
    journal: PathText
    """Where it is written down what was done."""
    begun_at: Timestamp

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return repair_path(self.id, "begun")


class RepairEnded(Document, frozen=True, kw_only=True, tag="holdfast.repair-ended"):
    """A plan that is done with the stream."""

    id: RepairId
    ended_at: Timestamp

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return repair_path(self.id, "ended")


def unfinished_repairs(reader: Reader) -> tuple[RepairBegun, ...]:
    """Return the plans that were begun on a stream and have not ended, the newest first.

    There is more than one when a plan that was cut short is being taken back.

    Raises:
        ReadError, RecordError: The record cannot be read.
    """
    names = find_names(reader, REPAIRS, _NAME)
    ended = {each[1] for each in names if each[2] == "ended"}
    begun = sorted({each[1] for each in names if each[2] == "begun"} - ended, reverse=True)
    found = (read_document(reader, repair_path(each, "begun"), RepairBegun) for each in begun)
    return tuple(each for each in found if each is not None)


def unfinished_repair(reader: Reader) -> RepairBegun | None:
    """Return the newest plan that was begun on a stream and has not ended; None without one.

    Raises:
        ReadError, RecordError: The record cannot be read.
    """
    return next(iter(unfinished_repairs(reader)), None)


def mark_repair(writer: Writer, mark: RepairBegun | RepairEnded) -> None:
    """Write a mark down, unless it is there."""
    create(writer, mark)


def say_how_to_end(journal: str) -> str:
    """Return the two commands that end a repair which was begun."""
    return (
        f"Finish it: holdfast apply {quote(journal)} --continue. Or take it back: "
        f"holdfast undo {quote(journal)} --execute"
    )

"""Asking a source what it can still give: the question, and what was found or why nothing was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from holdfast.checkpoint.sources.read import SourceLog
from holdfast.errors import HoldfastError
from holdfast.record.contracts import Contract
from holdfast.sources.kind import Offset, load
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader

CANNOT_BE_ASKED = "a source of this kind cannot be asked"


class Found:
    """What a probe found: one class per kind of source, with what its rules judge."""

    __slots__ = ()
    display_name: str
    """As people know the source: `kafka sensors`."""

    @property
    def not_looked_at(self) -> tuple[tuple[str, str], ...]:
        """What could not be read beside the source, each with the reason."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProbed(Found):
    """A source that could not be looked at, or was not."""

    why: str
    """A sentence without a full stop: `--source 0=… does not say where the table is`."""


class SourceProbe(msgspec.Struct, frozen=True, kw_only=True):
    """One source of the query, looked at."""

    source: str
    """Its place in the offset entries: `0`, or its name."""
    display_name: str
    """As people know it: `kafka sensors`."""
    found: Found
    lossless_for: timedelta | None = None
    """For how long a resume still finds everything that it needs; None when that is not known.

    Zero when something is gone already.
    """
    lossless_by: str = ""
    """What that follows from: `sensors keeps records for 7 days`; empty when it is not known."""


class SourceLooks(msgspec.Struct, frozen=True, kw_only=True):
    """Where the sources of one query are, and what is known of them."""

    given: Mapping[str, str]
    """Where each is, by its place in the query; an empty place stands for the only one."""
    options: Mapping[str, str]
    """Of the store."""
    kafka_config: str | None
    contract: Contract | None
    topic_ids: Mapping[str, Mapping[str, str]] | str
    """Those of the last guarded run, by source; a text says why they could not be read."""
    now: datetime

    def option(self, source: str, name: str) -> str | None:
        """Return where a source is: as given, or by an option that the contract has kept."""
        if source in self.given or "" in self.given:
            return self.given.get(source, self.given.get(""))
        return self.kept(source).get(name)

    def kept(self, source: str) -> Mapping[str, str]:
        """Return the options of a source that the contract has kept."""
        known = () if self.contract is None else self.contract.source_options
        number = int(source) if source.isdecimal() else len(known)
        return known[number] if number < len(known) else {}

    def open(self, location: str) -> Reader:
        """Return what reads at a location.

        Raises:
            HoldfastError: It cannot be opened.
        """
        return open_reader(location, self.options)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What one source is asked."""

    source: str
    """Its place in the offset entries."""
    needed: Offset
    """Where the next batch begins to read."""
    looks: SourceLooks
    listed: Offset | None = None
    """Where the last batch began, if it is committed: a start lists from there again."""
    log: SourceLog | None = None
    """What the source keeps in the checkpoint; None when there is no checkpoint."""
    checkpoint: Reader | None = None

    def where(self, option: str, what: str) -> str | SourceProbe:
        """Return where the source is, or the answer that says how to tell.

        Args:
            option: The option of the source that has it.
            what: That option in words: `the table's location`.
        """
        place = self.looks.option(self.source, option)
        if place is not None:
            return place
        add = f"add --source {self.source}=WHERE, {what}"
        return self.not_probed(f"a checkpoint does not say where it is: {add}")

    def table(self) -> Reader | SourceProbe:
        """Return what reads the table that options name, or the answer that says why not."""
        place = self.where("path", "the table's location")
        if isinstance(place, SourceProbe):
            return place
        try:
            return self.looks.open(place)
        except HoldfastError as error:
            return self.not_probed(error.why)

    def not_probed(self, why: str) -> SourceProbe:
        """Return the answer of a source that was not looked at."""
        found = NotProbed(why=why)
        return SourceProbe(source=self.source, display_name=self.needed.named, found=found)


def ask(question: Question) -> SourceProbe:
    """Look at what a source can still give."""
    asks = question.needed.kind.asks
    if not asks:
        return question.not_probed(CANNOT_BE_ASKED)
    answer: SourceProbe = load(asks)(question)
    return answer

"""Which batches readers see after a plan has settled a directory, and why they could not."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from holdfast.ledger.output import (
    EmptyOutput,
    ExchangeOutput,
    KeepOutput,
    Output,
    RestoreOutput,
    is_copy,
)
from holdfast.ledger.row import LedgerRow
from holdfast.sinks.files.directory import Directory, State
from holdfast.sinks.files.layout import BatchName, batches_of
from holdfast.sinks.files.record import Record, spans_of


class Settling(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan makes of the batches of one stream."""

    directory: Directory
    state: State
    new: LedgerRow
    """The row that is set."""

    def find_obstacle(self, output: Output) -> str | None:
        """Say why the batches could not be what a plan names; None if nothing does."""
        match output:
            case KeepOutput():
                return self._find_collision()
            case EmptyOutput(kept=aside):
                kept = None
            case RestoreOutput(kept=found, aside=aside) | ExchangeOutput(kept=found, aside=aside):
                kept = found
        if not is_copy(aside):
            return f"{aside} is not the name of what was taken away."
        return None if kept is None else self._find_collision() or self._find_missing(kept)

    def _find_collision(self) -> str | None:
        """Say which batch has a name that the next batches of the stream would use again."""
        for batch in self.state.batches:
            if batch.generation == self.new.generation and batch.batch > self.new.last_batch:
                return (
                    f"Batch {batch.batch} of generation {batch.generation} is there, and its name "
                    "would be used again. A rewind opens a new generation."
                )
        return None

    def _find_missing(self, kept: str) -> str | None:
        version = _version(kept)
        if version is None:
            has_any = is_copy(kept) and self._kept(kept)
            return None if has_any else f"It has kept no batches under {kept}."
        if version in [(each.generation, each.batch) for each in self.state.batches]:
            return None
        return f"Batch {version[1]} of generation {version[0]} is not there."

    def record(self, output: Output) -> Record:
        """Return what the token stands for once the row is set: which batches are visible."""
        now = self.state.batches
        match output:
            case KeepOutput():
                return self._record(now)
            case EmptyOutput(kept=aside):
                return self._record((), aside=aside)
            case RestoreOutput(kept=kept, aside=aside):
                return self._restored(kept, aside)
            case ExchangeOutput(kept=kept_or_none, aside=aside):
                stays = [each for each in now if not self._is_own(each, output.generation)]
                if kept_or_none is None:
                    return self._record(stays, aside=aside)
                return self._restored(kept_or_none, aside, stays=stays)

    def _is_own(self, batch: BatchName, generation: int) -> bool:
        """Return whether a generation has published a batch, or its opening has put it back."""
        opened = self.state.record.opened
        return batch.generation == generation or any(span.holds(batch) for span in opened)

    def _restored(self, kept: str, aside: str, *, stays: Iterable[BatchName] = ()) -> Record:
        version = _version(kept)
        if version is not None:
            live = [each for each in self.state.batches if _is_until(each, version)]
            return self._record(live, aside=aside)
        back = self._kept(kept)
        return self._record({*back, *stays}, aside=aside, back=kept, opened=back)

    def _record(
        self,
        live: Iterable[BatchName],
        *,
        aside: str | None = None,
        back: str | None = None,
        opened: Iterable[BatchName] = (),
    ) -> Record:
        return Record(
            row=self.new,
            format=self.state.record.format,
            live=spans_of(live),
            opened=spans_of(opened),
            aside=aside,
            back=back,
        )

    def _kept(self, kept: str) -> list[BatchName]:
        stream = self.state.row.stream
        names = self.directory.mover.list(self.directory.places(stream).kept(kept)).directories
        return batches_of(names, stream)


def _is_until(batch: BatchName, version: tuple[int, int]) -> bool:
    return (batch.generation, batch.batch) <= version


def _version(text: str) -> tuple[int, int] | None:
    """Return the generation and batch that a version names; None for the name of a copy."""
    generation, _, batch = text.partition(".")
    is_version = generation.isascii() and generation.isdecimal() and batch.isdecimal()
    return (int(generation), int(batch)) if is_version else None

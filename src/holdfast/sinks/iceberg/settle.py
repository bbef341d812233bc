"""The rows that an Iceberg table gets when a plan settles it, and why it could not get them.

A snapshot is brought back as it is: no row is copied, and its files are read as they were. What
other writers have added since would go with the rows of the stream, so then it is not done.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

from holdfast.formats.iceberg_metadata import IcebergTable, Snapshot
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, KeepOutput, Output, RestoreOutput
from holdfast.ledger.store import Since
from holdfast.sinks.iceberg.change import changes_rows
from holdfast.sinks.iceberg.columns import find_unread
from holdfast.sinks.iceberg.notes import Note, encode_note, streams_in
from holdfast.sinks.iceberg.versions import Noted, find_own, walk_notes

if TYPE_CHECKING:
    from holdfast.ledger.row import LedgerRow
    from holdfast.spark.iceberg_step import IcebergStep


class Settling(msgspec.Struct, frozen=True, kw_only=True):
    """One table that is brought to a named state for a stream."""

    table: IcebergTable
    """All that its newest metadata says."""
    display_name: str
    stream: str

    def find_obstacle(self, output: Output, *, seen: str | None = None) -> str | None:
        """Say why the table could not be settled; None if nothing does."""
        match output:
            case KeepOutput():
                return None
            case EmptyOutput():
                return None if seen is None else self._say_others(after=_number(seen))
            case RestoreOutput(kept=kept):
                return self._say_others(after=_number(kept)) or self._find_unfit(kept)
            case ExchangeOutput(generation=generation, kept=kept):
                unclear = self.since(generation).unclear or self._say_other_writer(generation)
                if unclear:
                    return f"{self.display_name} cannot be put back: {unclear}."
                return self._say_shared() or self._find_unfit(kept)

    def put(self, step: IcebergStep, output: Output, row: LedgerRow) -> None:
        """Give the table its rows in a step; an obstacle was looked for."""
        kept = output.kept if isinstance(output, RestoreOutput | ExchangeOutput) else None
        number = _number(kept)
        if number is None:
            step.delete_all(encode_note(row))
            return
        step.set_current(number)
        step.append_nothing(encode_note(row, restored=number))

    def since(self, generation: int) -> Since:
        """Say what the history of `main` has since a generation was opened."""
        found = self._since_opening(generation)
        if found is None:
            return Since(
                unclear="the history of main does not reach back to where the generation was opened"
            )
        opening, later = found
        own = find_own(self.table, self.stream)
        is_own = opening.restored is not None or any(each.snapshot_id in own for each in later)
        others = [each for each in later if each.snapshot_id not in own]
        unclear = ""
        if is_own and others:
            unclear = (
                "the stream and another writer have both changed the table, and Iceberg does not "
                "know whose a row is"
            )
        return Since(
            own_rows=None if is_own else 0, others=tuple(map(_told, others)), unclear=unclear
        )

    def _since_opening(self, generation: int) -> tuple[Note, list[Snapshot]] | None:
        """Return what opened a generation, and what has changed rows since; None if not known."""
        opening: Noted | None = None
        history = self.table.history()
        is_sure = bool(history) and history[-1].parent_id is None
        for snapshot, note in walk_notes(self.table, self.stream):
            if note.generation != generation:
                is_sure = note.generation < generation
                break
            opening = snapshot, note
        if opening is None or not is_sure:
            return None
        later = takewhile(lambda each: each.snapshot_id != opening[0].snapshot_id, history)
        return opening[1], [each for each in later if changes_rows(each)]

    def _say_other_writer(self, generation: int) -> str:
        """Say whose rows would go, where only another writer has changed the table."""
        others = self.since(generation).others
        return f"{others[0]}, and its rows would be taken away" if others else ""

    def _say_shared(self) -> str | None:
        """Say which other streams would see their rows taken out, although they come back."""
        names = [each for each in streams_in(self.table.properties) if each != self.stream]
        if not names:
            return None
        return (
            f"{', '.join(names)} write to {self.display_name} too, and all its rows would be "
            "replaced."
        )

    def _say_others(self, *, after: int | None) -> str | None:
        own = find_own(self.table, self.stream)
        for snapshot in self.table.history():
            if snapshot.snapshot_id == after:
                return None
            if snapshot.snapshot_id not in own and changes_rows(snapshot):
                return f"{_told(snapshot)}: its rows would be taken away too."
        return f"The branch main of {self.display_name} has no such snapshot in its history."

    def _find_unfit(self, kept: str | None) -> str | None:
        """Say why the rows of a snapshot cannot come back as they were."""
        number = _number(kept)
        if kept is None:
            return None
        snapshot = None if number is None else self.table.snapshots.get(number)
        if snapshot is None:
            return f"{self.display_name} has no snapshot {kept}: it was expired."
        return find_unread(self.table, snapshot, self.display_name)


def _told(snapshot: Snapshot) -> str:
    operation = snapshot.operation
    return f"Snapshot {snapshot.snapshot_id} ({operation}) was committed by another writer"


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 20 else None

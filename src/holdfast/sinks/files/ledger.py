"""The ledger of a directory of files: a token for each stream, and the batches that are visible."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.starts import SinkFenced
from holdfast.ledger.output import CannotSettleError, KeepOutput
from holdfast.ledger.store import LedgerStore, Since, Unreadable
from holdfast.sinks.files.directory import Directory, State
from holdfast.sinks.files.examine import find_damage
from holdfast.sinks.files.place import directory_of
from holdfast.sinks.files.record import Record
from holdfast.sinks.files.settle import Settling
from holdfast.sinks.files.tidying import Tidying

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.ledger.output import Output
    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.files.sink import Files

_TRIES = 10
"""A driver that is being replaced can take the token a few times, between a look and a fence."""


def open_ledger(
    sink: Files, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
) -> FilesLedgerStore:
    """Open the ledger of a directory."""
    return FilesLedgerStore(sink, lambda: directory_of(sink, spark, options))


class FilesLedgerStore(LedgerStore):
    """The ledgers of all streams that write into one directory."""

    def __init__(self, sink: Files, open_directory: Callable[[], Directory]) -> None:
        """Open nothing yet."""
        self._sink = sink
        self._open_directory = open_directory
        self._directory: Directory | None = None

    @property
    def directory(self) -> Directory:
        """The directory."""
        if self._directory is None:
            self._directory = self._open_directory()
        return self._directory

    def label(self, stream: str) -> str:
        """Return the label of a stream's row; without one, the sink's own."""
        try:
            state = self.directory.read(stream)
        except HoldfastError:
            return self._sink.label
        return self._sink.label if state is None else state.row.sink

    def read(self, stream: str) -> LedgerRow | Unreadable | None:
        """Return the row of a stream; None when it has none."""
        try:
            state = self.directory.read(stream)
        except HoldfastError as error:
            return Unreadable.by(error)
        return None if state is None else state.row

    def examine(self, row: LedgerRow) -> str | None:
        """Say which batches, or which of their files, are not there any more, or were added."""
        state = self.directory.read(row.stream)
        return None if state is None else find_damage(self.directory, state)

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch publish from now on; None if the row is not this start's to take."""
        for _ in range(_TRIES):
            state = self.directory.read(row.stream)
            if state is None or state.row.epoch >= epoch or state.row.binding != row.binding:
                return None
            if self._fence_now(state, epoch=epoch, nonce=nonce):
                return self._tidied(row.stream).row
        return None

    def _fence_now(self, state: State, *, epoch: int, nonce: str) -> bool:
        fenced = replace(state.record.row, epoch=epoch, nonce=nonce)
        is_mine = self.directory.swap(state, msgspec.structs.replace(state.record, row=fenced))
        if is_mine:
            emit(SinkFenced(stream=fenced.stream, sink=fenced.sink))
        return is_mine

    def _tidied(self, stream: str) -> State:
        """Return what is there when nobody else can change it any more."""
        for _ in range(2):
            state = self.directory.read(stream)
            if state is None:
                break
            Tidying(directory=self.directory, state=state).run()
            found = self.directory.read(stream)
            if found is not None:
                return found
        raise CannotSettleError(self._sink.display_name, "Its ledger is gone.")

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the sink with its epoch."""
        return self._replace(old, new, KeepOutput(), seen=None)

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        """Take batches away or put them back, and set the row.

        The row is set in one step, which fences everybody. Then the batches are moved, one by one;
        whoever fences the sink next finishes that.
        """
        return self._replace(old, new, output, seen=seen)

    def _replace(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None
    ) -> bool:
        state = self.directory.read(new.stream)
        if old is None and state is None:
            return self._open(new, output)
        if state is None or state.row != old or new.epoch < state.row.epoch:
            return False
        self._refuse(state, new, output, seen=seen)
        held = self._held(state, new)
        # A batch that came in between has changed the row; its driver is fenced now.
        if held is None or held.row != replace(old, epoch=new.epoch, nonce=new.nonce):
            return False
        settling = Settling(directory=self.directory, state=held, new=new)
        if not self.directory.swap(held, settling.record(output)):
            return False
        self._tidied(new.stream)
        return True

    def _held(self, state: State, new: LedgerRow) -> State | None:
        """Return what is there once only the new row's epoch can change it; None if it cannot."""
        if (state.row.epoch, state.row.nonce) == (new.epoch, new.nonce):
            return state
        if not self._fence_now(state, epoch=new.epoch, nonce=new.nonce):
            return None
        return self._tidied(new.stream)

    def _open(self, new: LedgerRow, output: Output) -> bool:
        if not isinstance(output, KeepOutput):
            raise CannotSettleError(self._sink.display_name, "It has no batch of this stream.")
        is_first = self.directory.open(Record(row=new, format=self._sink.format))
        if is_first:
            emit(SinkFenced(stream=new.stream, sink=new.sink))
        return is_first

    def _refuse(self, state: State, new: LedgerRow, output: Output, *, seen: str | None) -> None:
        found = Settling(directory=self.directory, state=state, new=new).find_obstacle(output)
        if found is None and self.has_changed(new.stream, seen):
            found = "Its batches have changed since the plan was made."
        if found is not None:
            raise CannotSettleError(self._sink.display_name, found)

    def find_obstacle(self, new: LedgerRow, output: Output) -> str | None:
        """Say which batches are not there that the output needs."""
        state = self.directory.read(new.stream)
        if state is None:
            return None if isinstance(output, KeepOutput) else "It has no batch of this stream."
        return Settling(directory=self.directory, state=state, new=new).find_obstacle(output)

    def since(self, stream: str, *, generation: int) -> Since:
        """Say whether a generation has published batches, or put some back."""
        state = self.directory.read(stream)
        if state is None or state.row.generation != generation:
            return Since(unclear=f"generation {generation} is not the newest one of the stream")
        is_own = any(each.generation == generation for each in state.batches)
        return Since(own_rows=None if is_own or state.record.opened else 0)

    def table_version(self, stream: str) -> str | None:
        """Return what tells the names of all batches apart from others."""
        del stream
        names = "\n".join(self.directory.mover.list(self.directory.name).directories)
        return hashlib.sha256(names.encode()).hexdigest()[:32]

    def other_streams(self, stream: str) -> tuple[str, ...]:
        """Return the other streams that have a ledger beside the directory."""
        return tuple(each for each in self.directory.streams() if each != stream)

    def batch_versions(self, stream: str) -> Mapping[int, str]:
        """Return, for every batch of the generation that readers see, how to go back to it."""
        state = self.directory.read(stream)
        own = [] if state is None else state.batches
        return {
            each.batch: f"{each.generation}.{each.batch}"
            for each in own
            if state is not None and each.generation == state.row.generation
        }

    def close(self) -> None:
        """Forget the directory; the next use opens it again."""
        self._directory = None

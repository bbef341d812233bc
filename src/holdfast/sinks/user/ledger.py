"""The ledger of a user's own sink: rows as texts, in transactions of the sink."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.checkpoint.text import parse_json_object
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.starts import SinkFenced, SinkSettled
from holdfast.ledger.output import (
    CannotSettleError,
    EmptyOutput,
    ExchangeOutput,
    KeepOutput,
    Output,
    RestoreOutput,
    is_copy,
)
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.row_json import row_from, row_values
from holdfast.ledger.store import LedgerStore, Since, Unreadable
from holdfast.redact import redact
from holdfast.sinks.sink import Capability
from holdfast.sinks.user.versions import Versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.sinks.user.sink import Sink

_THERE = "there"
"""What is said of the content of a sink without versions: a plan must know that it is there."""


class BrokenRowError(HoldfastError):
    """What a sink keeps as its ledger row is not one."""

    code = "LEDGER_ROW"

    def __init__(self, display_name: str, key: str) -> None:
        super().__init__(
            what=f"The ledger of {display_name} cannot be read.",
            why=f"What it keeps under {key} is not a ledger row.",
            how="Restore it from a backup of the sink.",
        )


class UserSinkError(HoldfastError):
    """A method of a user's own sink raised something."""

    code = "USER_SINK"

    def __init__(self, display_name: str, error: Exception) -> None:
        super().__init__(
            what=f"{display_name} could not be used, and was not changed.",
            why=f"{type(error).__name__}: {redact(str(error))}",
            how="Fix the class of the sink, or what it connects to, and try again.",
        )


def open_ledger(
    sink: Sink, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
) -> UserLedgerStore:
    """Open the ledger of a sink; no session is needed."""
    del spark, options
    return UserLedgerStore(sink)


class UserLedgerStore(LedgerStore):
    """Ledger rows as texts, in transactions of the sink."""

    def __init__(self, sink: Sink) -> None:
        """Connect to nothing yet."""
        self._sink = sink
        self._connection: Any = None

    def connection(self) -> Any:
        """Return the connection; a new one when there is none."""
        if self._connection is None:
            self._connection = self._sink.connect()
        return self._connection

    def label(self, stream: str) -> str:
        """Return the sink's own label."""
        del stream
        return self._sink.label

    def read(self, stream: str) -> LedgerRow | Unreadable | None:
        """Return the row of a stream."""
        try:
            with self.naming_failures():
                return self.row_in(stream) if self._sink.exists() else None
        except HoldfastError as error:
            return Unreadable.by(error)

    def row_in(self, stream: str) -> LedgerRow | None:
        """Return the row of a stream, within the transaction there is.

        Raises:
            BrokenRowError: What is there is not a row.
        """
        key = self._key(stream)
        text = self._sink.read_ledger(self.connection(), key)
        if text is None:
            return None
        row = row_from(parse_json_object(text) or {})
        if row is None or (row.stream, row.sink) != (stream, self._sink.label):
            raise BrokenRowError(self._sink.display_name, key)
        return row

    def keep(self, row: LedgerRow) -> None:
        """Write a row, within the transaction there is."""
        text = msgspec.json.encode(row_values(row)).decode()
        self._sink.write_ledger(self.connection(), self._key(row.stream), text)

    def versions(self, stream: str) -> Versions:
        """Return what the table held after each batch, within the transaction there is."""
        # No stream has a colon in its name.
        return Versions(self._sink, self.connection(), f"versions:{self._key(stream)}")

    def examine(self, row: LedgerRow) -> str | None:
        """Ask the sink."""
        return self._sink.examine(self.connection()) if row.digest is not None else None

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None if the row is not this start's to take."""
        with self.transaction():
            found = self.row_in(row.stream)
            if found is None or found.epoch >= epoch or found.binding != row.binding:
                return None
            fenced = replace(found, epoch=epoch, nonce=nonce)
            self.keep(fenced)
            emit(SinkFenced(stream=row.stream, sink=row.sink))
        return fenced

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none."""
        return self._settle(old, new, KeepOutput(), seen=None)

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        """Take rows away and put rows back by the sink's own methods, and set the row."""
        with self.naming_failures():
            return self._settle(old, new, output, seen=seen)

    def _settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None
    ) -> bool:
        with self.transaction():
            if self.row_in(new.stream) != old:
                return False
            versions, is_kept = self.versions(new.stream), isinstance(output, KeepOutput)
            if not is_kept and seen not in (None, versions.now() or _THERE):
                raise self._refuse("Its rows have changed since the plan was made.")
            obstacle = self._find_obstacle(new.stream, output)
            if obstacle is not None:
                raise self._refuse(obstacle)
            back = self._take(new.stream, output)
            base = versions.now()
            if back is not None:
                self._sink.put_back(self.connection(), back)
            if not is_kept:
                emit(SinkSettled(stream=new.stream, sink=new.sink))
            self.keep(new)
            versions.open(new, base=base, puts_rows=back is not None)
            emit(SinkFenced(stream=new.stream, sink=new.sink))
        return True

    def _take(self, stream: str, output: Output) -> str | None:
        """Take rows away, as a plan says; return the copy whose rows come back, if any do."""
        back: str | None = None
        copy, after = "", None
        match output:
            case EmptyOutput():
                copy = output.kept
            case RestoreOutput():
                copy = output.aside
                back, after = (output.kept, None) if is_copy(output.kept) else (None, output.kept)
            case ExchangeOutput():
                back, versions = output.kept, self.versions(stream)
                log, since = versions.read(), self._since(stream, output.generation)
                # Without versions nothing is taken: nothing came, or there was an obstacle.
                if log is not None and log.base is not None:
                    copy = output.aside
                    after = log.base if since.own_rows is None else versions.now()
            case KeepOutput():
                pass
        if copy:
            self._sink.take_rows(self.connection(), copy, after=after)
        return back

    def since(self, stream: str, *, generation: int) -> Since:
        """Tell by the versions whether the generation, or another writer, has changed the table."""
        if Capability.SETTLE not in self._sink.capabilities:
            return super().since(stream, generation=generation)
        with self.naming_failures():
            return self._since(stream, generation)

    def _since(self, stream: str, generation: int) -> Since:
        return self.versions(stream).since(self.row_in(stream), generation)

    def find_obstacle(self, new: LedgerRow, output: Output) -> str | None:
        """Say why the sink could not be settled."""
        with self.naming_failures():
            return self._find_obstacle(new.stream, output)

    def _find_obstacle(self, stream: str, output: Output) -> str | None:
        named = self._sink.display_name
        if isinstance(output, KeepOutput):
            return None
        if Capability.SETTLE not in self._sink.capabilities:
            return f"{named} has no way to take rows away and put them back."
        copies = [output.kept] if isinstance(output, EmptyOutput) else [output.aside]
        if isinstance(output, EmptyOutput) and self.versions(stream).has_another_writer():
            return (
                f"{named} has rows of another writer or stream, which would be taken away too. "
                "Move them elsewhere, or use --output keep-from-here."
            )
        if isinstance(output, ExchangeOutput):
            copies += [] if output.kept is None else [output.kept]
            if unclear := self._since(stream, output.generation).unclear:
                return f"{named} cannot be put back: {unclear}."
        if isinstance(output, RestoreOutput) and not is_copy(output.kept):
            versions = self.versions(stream).of_batches(self.row_in(stream))
            if self._sink.keys or output.kept not in versions.values():
                return f"{named} has no such version."
        bad = next((name for name in copies if not is_copy(name)), None)
        return None if bad is None else f"{bad} is not the name of a copy."

    def table_version(self, stream: str) -> str | None:
        """Return what tells the table's content apart, if anything does; None without a table."""
        with self.naming_failures():
            return self.versions(stream).now() or _THERE if self._sink.exists() else None

    def batch_versions(self, stream: str) -> Mapping[int, str]:
        """Return the version after each batch, while no other writer has changed the table."""
        with self.naming_failures():
            # Taking later rows away does not bring back what they have overwritten.
            if self._sink.keys or not self._sink.exists():
                return {}
            return self.versions(stream).of_batches(self.row_in(stream))

    def _refuse(self, why: str) -> CannotSettleError:
        return CannotSettleError(self._sink.display_name, why)

    @contextmanager
    def naming_failures(self) -> Iterator[None]:
        """Raise what a user's sink raises as an error that says whose it is."""
        try:
            yield
        except HoldfastError:
            raise
        except Exception as error:  # a user's sink can raise anything
            self.close()
            raise UserSinkError(self._sink.display_name, error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a transaction of the sink; after an error the next one has a new connection."""
        with ExitStack() as undone:
            undone.callback(self.close)
            with self._sink.transaction(self.connection()):
                yield
            undone.pop_all()

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        if self._connection is not None:
            self._sink.disconnect(self._connection)
            self._connection = None

    def _key(self, stream: str) -> str:
        return f"{stream}/{self._sink.label}"

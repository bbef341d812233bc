"""The ledger of a user's own sink: rows as texts, in transactions of the sink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.checkpoint.text import parse_json_object
from holdfast.errors import HoldfastError
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.row_json import row_from, row_values
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.points import reached
from holdfast.redact import redact

if TYPE_CHECKING:
    from holdfast.sinks.user_sink import Sink


class BrokenRowError(HoldfastError):
    """What a sink keeps as its ledger row is not one."""

    code = "LEDGER_ROW"

    def __init__(self, shown: str, key: str) -> None:
        super().__init__(
            what=f"The ledger of {shown} cannot be read.",
            why=f"What it keeps under {key} is not a ledger row.",
            how="Restore it from a backup of the sink.",
        )


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
            return self.row_in(stream) if self._sink.exists() else None
        except HoldfastError as error:
            return Unreadable.by(error)
        except Exception as error:  # noqa: BLE001 - a user's sink can raise anything
            self.close()
            return Unreadable(f"{type(error).__name__}: {redact(str(error))}")

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
            raise BrokenRowError(self._sink.shown, key)
        return row

    def keep(self, row: LedgerRow) -> None:
        """Write a row, within the transaction there is."""
        text = msgspec.json.encode(row_values(row)).decode()
        self._sink.write_ledger(self.connection(), self._key(row.stream), text)

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
            reached("fenced")
        return fenced

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none."""
        with self.transaction():
            if self.row_in(new.stream) != old:
                return False
            self.keep(new)
            reached("fenced")
        return True

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

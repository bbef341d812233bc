"""What a user's own sink held after each batch: by it rows go back, and an undo finds its rows.

Kept as one text beside the ledger row, and written in the same transactions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import Since
from holdfast.sinks.sink import Capability

if TYPE_CHECKING:
    from holdfast.sinks.user.sink import Sink

MOST = 100
"""Of so many batches the versions are kept."""
_OTHER = "another writer has changed the table"


class VersionLog(msgspec.Struct, frozen=True, kw_only=True):
    """The versions of the table in one generation of a stream."""

    generation: int
    opened_at: int | None
    """The last batch of the row that opened the generation; None if that is not known."""
    base: str | None = None
    """The version without what the generation wrote, its opening included; None if not known."""
    puts_rows: bool = False
    """Whether its opening has put rows into the table."""
    batches: dict[int, str] = {}
    """The version after each batch."""
    is_unbroken: bool = True
    """Whether no version shows that another writer has changed the table since."""

    @property
    def newest(self) -> str | None:
        """The version after the last batch."""
        return self.batches[max(self.batches)] if self.batches else None


class Versions(msgspec.Struct, frozen=True):
    """Reads and writes the versions of one stream, within the transaction there is."""

    sink: Sink
    connection: Any
    key: str
    """Under which the sink keeps them."""

    def now(self) -> str | None:
        """Return what the table holds now; None when the sink has no versions."""
        if Capability.VERSIONS not in self.sink.capabilities:
            return None
        return self.sink.version(self.connection)

    def read(self) -> VersionLog | None:
        """Return what is known of a stream; None if that is nothing, or cannot be read."""
        text = self.sink.read_ledger(self.connection, self.key)
        try:
            return None if text is None else msgspec.json.decode(text, type=VersionLog)
        except msgspec.DecodeError:  # damaged, or of another version: how it began is not known
            return None

    def has_another_writer(self) -> bool:
        """Return whether the versions show rows that the stream has not written."""
        log = self.read()
        if log is None or self.now() is None:
            return False
        return not log.is_unbroken or self.now() != log.newest

    def _write(self, log: VersionLog) -> None:
        text = msgspec.json.encode(log).decode()
        self.sink.write_ledger(self.connection, self.key, text)

    def open(self, row: LedgerRow, *, base: str | None, puts_rows: bool) -> None:
        """Write down what the table holds when a row is put in the place of another.

        Args:
            row: The new row.
            base: The version after rows were taken away.
            puts_rows: Whether others were put back then.
        """
        if Capability.SETTLE not in self.sink.capabilities:
            return
        known, now = self.read(), self.now()
        # In the same generation it is another batch for the same rows: how it began is not known.
        is_new = known is None or known.generation != row.generation
        log = VersionLog(
            generation=row.generation,
            opened_at=row.last_batch if is_new else None,
            base=base if is_new else None,
            puts_rows=puts_rows,
            batches={} if now is None else {row.last_batch: now},
        )
        self._write(log)

    def add(self, row: LedgerRow, *, before: str | None) -> None:
        """Write down what the table holds after a batch.

        Args:
            row: After the batch.
            before: The version that the batch was written on; None: the sink has no versions.
        """
        after = self.now()
        if before is None or after is None:
            return
        log = self.read()
        if log is None or log.generation != row.generation:
            first = {row.last_batch - 1: before}
            log = VersionLog(generation=row.generation, opened_at=None, batches=first)
        batches = sorted({**log.batches, row.last_batch: after}.items())[-MOST:]
        is_unbroken = log.is_unbroken and before == log.newest
        self._write(msgspec.structs.replace(log, batches=dict(batches), is_unbroken=is_unbroken))

    def of_batches(self, row: LedgerRow | None) -> Mapping[int, str]:
        """Return the version after each batch; none if another writer has changed the table."""
        log = self.read()
        if log is None or row is None or log.generation != row.generation or not log.is_unbroken:
            return {}
        return log.batches if self.now() == log.newest else {}

    def since(self, row: LedgerRow | None, generation: int) -> Since:
        """Tell whether a generation, or another writer, has changed the table since its opening."""
        log = self.read()
        if log is None or row is None or log.generation != generation or log.opened_at is None:
            return Since(unclear="the ledger does not tell how the generation was opened")
        is_own = log.puts_rows or row.last_batch > log.opened_at
        if log.base is None:
            unclear = "its class has no `version`, so rows of later batches cannot be told apart"
            return Since(unclear=unclear) if is_own else Since(own_rows=0)
        if log.is_unbroken and self.now() == log.newest:
            return Since(own_rows=None if is_own else 0)
        if is_own:
            return Since(
                unclear=f"the stream wrote to it, and {_OTHER} too: whose a row is, is not known"
            )
        return Since(own_rows=0, others=(_OTHER,))

"""A ledger in memory that can be settled, in the place of a Delta table's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from holdfast.ledger.output import Output
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import LedgerStore, Since


class MemoryLedger(LedgerStore):
    """One row, the version of its table, and how it was settled."""

    keeps_versions = True

    def __init__(self, row: LedgerRow) -> None:
        self.row = row
        self.version = 100
        self.settled: list[Output] = []
        self.others: tuple[str, ...] = ()
        self.written = Since(own_rows=0)
        """What has happened since the newest generation was opened."""

    def label(self, stream: str) -> str:
        del stream
        return self.row.sink

    def read(self, stream: str) -> LedgerRow:
        del stream
        return self.row

    def examine(self, row: LedgerRow) -> str | None:
        del row
        return None

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        self.row = replace(row, epoch=epoch, nonce=nonce)
        return self.row

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        if self.row != old:
            return False
        self.row = new
        return True

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        assert seen in (None, str(self.version))
        if not self.replace(old, new):
            return False
        self.version += 1
        self.settled.append(output)
        return True

    def since(self, stream: str, *, generation: int) -> Since:
        del stream, generation
        return self.written

    def table_version(self, stream: str) -> str:
        del stream
        return str(self.version)

    def other_streams(self, stream: str) -> tuple[str, ...]:
        del stream
        return self.others

    def batch_versions(self, stream: str) -> Mapping[int, str]:
        del stream
        return {batch: str(batch) for batch in range(-1, self.row.last_batch + 1)}

    def close(self) -> None:
        pass

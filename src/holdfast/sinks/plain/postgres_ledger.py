"""The ledger row that plans set beside a PostgreSQL table of a plain stream."""

from __future__ import annotations

from typing import ClassVar

from holdfast.errors import HoldfastError
from holdfast.sinks.postgres.ledger import PostgresLedgerStore, has_no_tables


class PlainPostgresLedgerStore(PostgresLedgerStore):
    """Of one table; which rows are the stream's own is not known."""

    tells_own_rows: ClassVar[bool] = False

    def other_streams(self, stream: str) -> tuple[str, ...]:
        """Return the guarded streams that have a row for this table; none without a ledger."""
        try:
            return super().other_streams(stream)
        except HoldfastError as error:
            if not has_no_tables(error):
                raise
            return ()

"""What a Delta table tells of the batches in it, when its writer left no ledger.

Spark's own Delta sink sets a transaction version in every commit: the application is the query's
id, the version is the batch. It also writes both into `commitInfo`, as a `STREAMING UPDATE`. A
function for `foreachBatch` can set the same with `txnAppId` and `txnVersion`. Delta skips a write
whose version is not higher than the one that the table holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import msgspec

STREAMING = "STREAMING UPDATE"
"""The operation that Spark's own Delta sink names in its commits."""


class OutputCommit(msgspec.Struct, frozen=True, kw_only=True):
    """One commit of the table."""

    version: int
    operation: str = ""
    written_ms: int | None = None
    transactions: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The batch that it sets for an application, by the application's id."""
    output_mode: str = ""
    """Of a streaming write: `Append`, `Complete` or `Update`; otherwise empty."""
    restores: int | None = None
    """The version that it takes the table back to."""
    replaces_all: bool = False
    """Whether it removed everything that was there before: an overwrite, a TRUNCATE."""
    rows: int | None = None
    """How many rows it wrote; None when it does not say."""
    removed_files: int | None = None
    engine: str = ""
    """What made it, as Delta names it: `Apache-Spark/4.2.1 Delta-Lake/4.4.1`."""

    @property
    def is_streaming(self) -> bool:
        """Whether Spark's own Delta sink made it."""
        return self.operation == STREAMING


class DeltaOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    display_name: str
    """As people know it."""
    location: str = ""
    """Where it is; empty when it is not said."""
    newest: int = -1
    """Its newest version; -1 when there is no table."""
    table_id: str | None = None
    """None when nothing that was read says it."""
    created_ms: int | None = None
    commits: tuple[OutputCommit, ...] = ()
    """Newest first, without a gap."""
    remembered: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Batches by application that the newest checksum file lists; older commits have set them."""
    knows_all: bool = False
    """Whether every transaction of the table is known."""
    transaction_retention: timedelta | None = None
    """After that long Delta forgets a transaction; None: never, or not known."""

    @property
    def reads_all(self) -> bool:
        """Whether every commit that the table ever had was read."""
        return bool(self.commits) and self.commits[-1].version == 0

    def last_batch(self, application: str) -> int | None:
        """Return the newest batch that the table holds of an application; None for none."""
        for commit in self.commits:
            if application in commit.transactions:
                return commit.transactions[application]
        return self.remembered.get(application)

    def commit_of(self, application: str, batch: int) -> OutputCommit | None:
        """Return the commit that brought a batch; None when it was not read."""
        for commit in self.commits:
            if commit.transactions.get(application) == batch:
                return commit
        return None

    def streamed(self, application: str) -> tuple[OutputCommit, ...]:
        """Return the commits that Spark's own Delta sink made for a query, newest first."""
        return tuple(
            each for each in self.commits if each.is_streaming and application in each.transactions
        )

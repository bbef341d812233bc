"""What an Iceberg table tells of the batches that streams wrote into it.

Iceberg's own sink writes the query's id and the batch into the summary of each snapshot
(`queryId` and `epochId` of the streaming query). It skips a batch whose number is not
above the newest one of the query in the history of `main`.
"""

from __future__ import annotations

import msgspec


class IcebergWriter(msgspec.Struct, frozen=True, kw_only=True):
    """What one streaming query has written."""

    query_id: str
    newest: int = -1
    """The newest batch in the history of `main`; -1 when there is none."""
    newest_removed: int = -1
    """The newest batch in snapshots that the table still has and that no branch has: they were
    rolled back. -1 when there is none."""
    newest_on_branch: int = -1
    """The newest batch in the history of another branch than `main`; -1 when there is none."""
    operation: str = ""
    """Of its newest snapshot: `append` in append mode; `overwrite` or `delete` in complete mode."""
    engine: str = ""
    """The version of Spark that made its newest snapshot; empty when the table does not say."""
    applications: tuple[str, ...] = ()
    """The ids of the Spark applications that wrote its batches, each once, oldest first."""


class IcebergOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    display_name: str
    """As people know it."""
    writers: tuple[IcebergWriter, ...] = ()
    """Every query of which the table still has a snapshot."""
    is_cut: bool = False
    """Whether older snapshots of `main` were expired, so that what they say is not known."""
    snapshots: int = 0
    """How many snapshots the table has."""
    metadata: str = ""
    """The metadata file that was read."""

    def writer(self, query_id: str) -> IcebergWriter | None:
        """Return what a query has written; None when no snapshot tells of it."""
        return next((each for each in self.writers if each.query_id == query_id), None)

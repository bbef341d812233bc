"""The ledger in a Delta table: in the log itself, in the commits that bring the data.

A commit of ours sets a transaction version for `holdfast/<stream>/<sink>` and carries the whole
ledger row as its user metadata. Delta refuses a commit when another of the same application has
come in between, and silently leaves out one whose version is not higher. So the version orders
everything that may write: the generation above the epoch above the batch.

    slot 0      the fence of an epoch: from then on nothing of a lower one gets in
    slot 1      a row put in the place of another: opened, adopted, accepted
    slot 2 + n  batch n

A fence does not carry the row: what an older driver slips in just before it must not be hidden.
The row is the newest one below, with the newest fence's epoch and nonce. A row says in which commit
its fence is: a store without conditional writes lets a driver that stood still in its commit put
that in the fence's place, and then a batch may be there twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.formats.delta_log import (
    Commit,
    checkpointed_version,
    is_replacing,
    newest_version,
    read_commit,
    walk_back,
)
from holdfast.ledger.row import LedgerRow
from holdfast.sinks.delta.commit_notes import (
    decode_row,
    fence_of,
    fenced,
    is_fence,
    seen_by,
    table_of,
)
from holdfast.storage.read import Reader

if TYPE_CHECKING:
    from holdfast.sinks.delta.commit import Identity

FENCE_SLOT, ROW_SLOT, FIRST_BATCH_SLOT = 0, 1, 2
_SLOT_BITS, _EPOCH_BITS, _GENERATION_BITS = 32, 21, 10


class VersionOverflowError(HoldfastError, OverflowError):
    """A number has grown past what a transaction version of Delta can hold."""

    code = "VERSION_OVERFLOW"

    def __init__(self, generation: int, epoch: int, slot: int) -> None:
        super().__init__(
            what="Nothing was committed to the Delta table.",
            why=f"Generation {generation}, epoch {epoch} and slot {slot} do not fit into one "
            "transaction version.",
            how="Look for forged files in the stream's record: generations/ and leases/.",
        )


def app_id(stream: str, sink: str) -> str:
    """Return the application id of a stream in a sink."""
    return f"holdfast/{stream}/{sink}"


def transaction_version(generation: int, epoch: int, slot: int) -> int:
    """Return the version under which something is committed.

    Raises:
        VersionOverflowError: A number has grown past what the version can hold.
    """
    fits = generation < 1 << _GENERATION_BITS and epoch < 1 << _EPOCH_BITS
    if not fits or slot >= 1 << _SLOT_BITS:
        raise VersionOverflowError(generation, epoch, slot)
    return (generation << _EPOCH_BITS + _SLOT_BITS) + (epoch << _SLOT_BITS) + slot


def version_after(row: LedgerRow) -> int:
    """Return the version of the batch after that of a row, in the same epoch."""
    slot = FIRST_BATCH_SLOT + row.last_batch + 1
    return transaction_version(row.generation, row.epoch, slot)


class LedgerState(msgspec.Struct, frozen=True, kw_only=True):
    """What the log of a table says of one stream."""

    newest: int
    """The newest version that was looked at."""
    row: LedgerRow | None
    """With the epoch and the nonce of the newest fence."""
    own: Commit | None
    """The newest commit of the stream: fence, row or batch."""
    row_version: int = -1
    """The commit that carries the row; cleaned up with the log, sooner or later."""
    replaced_by: Commit | None = None
    """The newest commit since the row that has taken out what the stream had brought."""
    fenced_at: int | None = None
    """The commit that has the newest fence."""
    table_id: str | None = None
    """Of the table that the row was written into; None in rows of older versions."""
    schema: str | None = None
    """The table's columns, as the newest commit that was looked at sets them; None if none did."""
    is_rewound: bool = False
    """Whether the row's driver had seen another commit in its place: an older copy is there."""
    is_unsure: bool = False
    """Whether the commit that was the stream's newest is not there: the table may be another."""
    unseen: int | None = None
    """The newest commit of others that was cleaned up before the stream had looked at it."""
    is_gone: bool = False
    """Whether the stream's newest commit is no longer in the log, and was not cleaned up."""

    def ends_with(self, identity: Identity) -> bool:
        """Return whether a commit is the stream's newest."""
        if self.own is None or self.own.note != identity.note:
            return False
        return self.own.transactions[identity.app] == identity.version

    def holds(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Return whether its fenced row is the one that a new one is to replace."""
        return self.row == (
            None if old is None else dataclasses.replace(old, epoch=new.epoch, nonce=new.nonce)
        )


class DeltaLedger:
    """Reads one stream's row from the log of a table; what it knows it does not read again.

    A sink is its table: a row that the stream has written here under another label counts.
    """

    def __init__(self, reader: Reader, app: str) -> None:
        """Know nothing yet.

        Args:
            reader: Of the table.
            app: The application id, as long as the log has no other of the same stream.
        """
        self._reader = reader
        self._app = app
        self._of_stream = "/".join(app.split("/", 2)[:2]) + "/"
        self._known: LedgerState | None = None
        self._is_resolved = False
        """Whether the log was asked for a label: it does not change while a stream runs."""

    @property
    def label(self) -> str:
        """The sink's label: the one in the log, where there is one."""
        return self._app.removeprefix(self._of_stream)

    def read(self) -> LedgerState | None:
        """Return how the stream stands; None when there is no table.

        The stream's own newest commit is looked at again every time: a store without conditional
        writes can lose one to another driver, and what follows from it would be wrong.

        Raises:
            ReadError: The store did not let us read.
        """
        known = self._known
        own = None if known is None else known.own
        again = None if own is None else read_commit(self._reader, own.version)
        if known is not None and own is not None and again is None:
            if not self._is_cleaned_up(own):
                return replace(known, is_gone=True)
            return self._read_cleaned_up(known)
        is_unsure = again != own
        known = None if is_unsure else known
        newest = newest_version(self._reader, known=known.newest if known else None)
        if newest is None:
            return None
        if known is None:
            self._known = self._read_all(newest)
            return replace(self._known, is_unsure=is_unsure)
        later = [read_commit(self._reader, at) for at in range(known.newest + 1, newest + 1)]
        self._known = self._add(known, filter(None, later), newest=newest)
        return self._known

    def _read_cleaned_up(self, known: LedgerState) -> LedgerState:
        """Look at the commits that came since and are still there: the log begins further on."""
        newest = newest_version(self._reader)
        if newest is None or newest < known.newest:
            return replace(known, is_gone=True)
        later = takewhile(
            lambda commit: commit.version > known.newest, walk_back(self._reader, newest)
        )
        found = list(later)
        before = found[-1].version - 1 if found else known.newest
        unseen = before if before > known.newest else known.unseen
        self._known = self._add(replace(known, unseen=unseen), reversed(found), newest=newest)
        return replace(self._known, is_unsure=True)

    def _is_cleaned_up(self, own: Commit) -> bool:
        """Return whether a commit that is not there was deleted by Delta, after a checkpoint.

        A table that was deleted, or another one in its place, has none from then on.
        """
        checkpointed = checkpointed_version(self._reader)
        return checkpointed is not None and checkpointed >= own.version

    def lost_fence(self) -> int | None:
        """Return the commit in which the newest fence was, when another is in its place now."""
        known = self._known
        if known is None or known.fenced_at is None:
            return None
        there = read_commit(self._reader, known.fenced_at)  # not there: cleaned up
        return None if there is None or self._is_fence(there) else known.fenced_at

    def _is_fence(self, commit: Commit) -> bool:
        return self._app in commit.transactions and is_fence(commit)

    def _read_all(self, newest: int) -> LedgerState:
        """Walk back to the row, and to what its driver had not seen; then come forward again."""
        found: list[Commit] = []
        label_is_known = self._is_resolved
        seen: int | None = None
        for commit in walk_back(self._reader, newest):
            found.append(commit)
            mine = [app for app in commit.transactions if app.startswith(self._of_stream)]
            if mine and not label_is_known:
                self._app, label_is_known = mine[0], True
            if seen is None and self._app in commit.transactions and decode_row(commit.note):
                seen = seen_by(commit)
            if seen is not None and commit.version <= seen + 1:
                break
        self._is_resolved = True
        before = found[-1].version - 1 if found else newest
        unseen = before if seen is not None and before > seen else None
        nothing = LedgerState(newest=before, row=None, own=None, unseen=unseen)
        return self._add(nothing, reversed(found), newest=newest)

    def _add(self, known: LedgerState, commits: Iterable[Commit], *, newest: int) -> LedgerState:
        row, own, replaced_by = known.row, known.own, known.replaced_by
        row_version, fenced_at, table_id = known.row_version, known.fenced_at, known.table_id
        schema, is_rewound, unseen = known.schema, known.is_rewound, known.unseen
        for commit in commits:
            schema = commit.schema or schema
            if self._app not in commit.transactions:
                since = known.newest if own is None else own.version
                replaced_by = commit if is_replacing(commit, since) else replaced_by
                continue
            own = commit
            if (carried := decode_row(commit.note)) is not None:
                row, row_version = carried, commit.version
                is_rewound = seen_by(commit) >= commit.version
                # Delta has no lock: what came in while the batch was written is still to be judged.
                if replaced_by is not None and replaced_by.version <= seen_by(commit):
                    replaced_by = None
                if unseen is not None and unseen <= seen_by(commit):
                    unseen = None  # somebody has accepted the table as it was
                fenced_at, table_id = fence_of(commit), table_of(commit)
            elif self._is_fence(commit):
                fenced_at = commit.version
                row = None if row is None else fenced(row, commit)
        return LedgerState(
            newest=newest,
            row=row,
            own=own,
            row_version=row_version,
            replaced_by=None if row is None else replaced_by,
            fenced_at=fenced_at,
            table_id=table_id,
            schema=schema,
            is_rewound=is_rewound,
            unseen=unseen,
        )

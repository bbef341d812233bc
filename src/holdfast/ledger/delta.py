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

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.delta_log import Commit, newest_version, read_commit, walk_back
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.storage.read import Reader

FENCE_SLOT, ROW_SLOT, FIRST_BATCH_SLOT = 0, 1, 2
_SLOT_BITS, _EPOCH_BITS, _GENERATION_BITS = 32, 21, 10
_FENCE, _ROW = "fence", "row"
NATIVE_FENCE = 1 << 62
"""What the version of a query that is replaced is raised to: Delta leaves out all it still does."""
_REPLACING = ("RESTORE", "TRUNCATE", "REPLACE TABLE", "CREATE OR REPLACE TABLE")


def app_id(stream: str, sink: str) -> str:
    """Return the application id of a stream in a sink."""
    return f"holdfast/{stream}/{sink}"


def transaction_version(generation: int, epoch: int, slot: int) -> int:
    """Return the version under which something is committed.

    Raises:
        OverflowError: A number has grown past what the version can hold.
    """
    fits = generation < 1 << _GENERATION_BITS and epoch < 1 << _EPOCH_BITS
    if not fits or slot >= 1 << _SLOT_BITS:
        raise OverflowError(f"generation {generation}, epoch {epoch}, slot {slot}")
    return (generation << _EPOCH_BITS + _SLOT_BITS) + (epoch << _SLOT_BITS) + slot


def encode_row(row: LedgerRow, *, fenced_at: int | None = None) -> str:
    """Return the user metadata of a commit that carries a row, written behind a fence."""
    return json.dumps(
        {
            "holdfast": _ROW,
            "stream": row.stream,
            "sink": row.sink,
            "generation": row.generation,
            "epoch": row.epoch,
            "nonce": row.nonce,
            "query_id": row.binding.query_id,
            "checkpoint": row.binding.checkpoint,
            "last_batch": row.last_batch,
            "digest": row.digest,
            "end_offsets": row.end_offsets,
            "fenced_at": fenced_at,
        }
    )


def encode_fence(*, epoch: int, nonce: str) -> str:
    """Return the user metadata of a fence."""
    return json.dumps({"holdfast": _FENCE, "epoch": epoch, "nonce": nonce})


def decode_row(note: str) -> LedgerRow | None:
    """Return the row that a commit carries; None when it carries none."""
    found = parse_json_object(note) or {}
    numbers = [whole_number(found.get(name)) for name in ("generation", "epoch", "last_batch")]
    if found.get("holdfast") != _ROW or None in numbers:
        return None
    generation, epoch, last_batch = (number or 0 for number in numbers)
    digest = found.get("digest")
    return LedgerRow(
        stream=str(found.get("stream")),
        sink=str(found.get("sink")),
        generation=generation,
        epoch=epoch,
        nonce=str(found.get("nonce")),
        binding=Binding(
            query_id=QueryId(str(found.get("query_id"))), checkpoint=str(found.get("checkpoint"))
        ),
        last_batch=BatchId(last_batch),
        digest=None if digest is None else str(digest),
        end_offsets=str(found.get("end_offsets")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
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


class DeltaLedger:
    """Reads one stream's row from the log of a table; what it knows it does not read again."""

    def __init__(self, reader: Reader, app: str) -> None:
        """Know nothing yet."""
        self._reader = reader
        self._app = app
        self._known: Standing | None = None

    def read(self) -> Standing | None:
        """Return how the stream stands; None when there is no table.

        The stream's own newest commit is looked at again every time: a store without conditional
        writes can lose one to another driver, and what follows from it would be wrong.

        Raises:
            ReadError: The store did not let us read.
        """
        known = self._known
        own = None if known is None else known.own
        again = None if own is None else read_commit(self._reader, own.version)
        if again is not None and again != own:  # not there: cleaned up, which changes nothing
            known = None
        newest = newest_version(self._reader, known=known.newest if known else None)
        if newest is None:
            return None
        if known is None:
            self._known = self._read_all(newest)
        else:
            later = [read_commit(self._reader, at) for at in range(known.newest + 1, newest + 1)]
            self._known = self._add(known, filter(None, later), newest=newest)
        return self._known

    def lost_fence(self) -> int | None:
        """Return the commit in which the newest fence was, when another is in its place now."""
        known = self._known
        if known is None or known.fenced_at is None:
            return None
        there = read_commit(self._reader, known.fenced_at)  # not there: cleaned up
        return None if there is None or self._is_fence(there) else known.fenced_at

    def _is_fence(self, commit: Commit) -> bool:
        note = parse_json_object(commit.note) or {}
        return self._app in commit.transactions and note.get("holdfast") == _FENCE

    def _read_all(self, newest: int) -> Standing:
        """Walk back until the row is found; then come forward again."""
        found: list[Commit] = []
        for commit in walk_back(self._reader, newest):
            found.append(commit)
            if self._app in commit.transactions and decode_row(commit.note) is not None:
                break
        nothing = Standing(newest=newest, row=None, own=None)
        return self._add(nothing, reversed(found), newest=newest)

    def _add(self, known: Standing, commits: Iterable[Commit], *, newest: int) -> Standing:
        row, own, replaced_by = known.row, known.own, known.replaced_by
        row_version, fenced_at = known.row_version, known.fenced_at
        for commit in commits:
            if self._app not in commit.transactions:
                replaced_by = commit if is_replacing(commit, own) else replaced_by
                continue
            own = commit
            if (carried := decode_row(commit.note)) is not None:
                row, row_version, replaced_by = carried, commit.version, None
                fenced_at = _fence_of(commit)
            elif self._is_fence(commit):
                fenced_at = commit.version
                row = None if row is None else _fenced(row, commit)
        return Standing(
            newest=newest,
            row=row,
            own=own,
            row_version=row_version,
            replaced_by=replaced_by,
            fenced_at=fenced_at,
        )


def find_native_batch(reader: Reader, query_id: str) -> int | None:
    """Return the last batch that Delta's own sink has brought for a query; None when none is found.

    Its application id is the query's id, its version the batch.
    """
    newest = newest_version(reader)
    for commit in walk_back(reader, newest) if newest is not None else ():
        version = commit.transactions.get(query_id)
        if version is not None and version < NATIVE_FENCE:
            return version
    return None


def _fence_of(commit: Commit) -> int | None:
    return whole_number((parse_json_object(commit.note) or {}).get("fenced_at"))


def _fenced(row: LedgerRow, commit: Commit) -> LedgerRow:
    fence = parse_json_object(commit.note) or {}
    epoch = whole_number(fence.get("epoch"))
    if epoch is None:
        return row
    return replace(row, epoch=epoch, nonce=str(fence.get("nonce")))


def is_replacing(commit: Commit, own: Commit | None) -> bool:
    """Return whether a commit takes out what was there: restored, overwritten, emptied."""
    if own is None:
        return False
    mode = str(commit.parameters.get("mode", ""))
    if commit.operation == "RESTORE":
        to = commit.parameters.get("version")
        return not (str(to).isdigit() and int(str(to)) >= own.version)
    if commit.operation == "DELETE":
        return str(commit.parameters.get("predicate", "[]")) in ("[]", '["true"]')
    return commit.operation in _REPLACING or mode == "Overwrite"

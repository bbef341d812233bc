"""`hf.Delta`: a Delta table as an exactly-once sink."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import ConfigError, HoldfastError
from holdfast.ledger.decide import Apply, Decision, decide
from holdfast.ledger.delta import (
    FENCE_SLOT,
    FIRST_BATCH_SLOT,
    NATIVE_FENCE,
    ROW_SLOT,
    DeltaLedger,
    Standing,
    app_id,
    encode_fence,
    encode_row,
    find_native_batch,
    transaction_version,
)
from holdfast.ledger.row import advance
from holdfast.points import reached
from holdfast.sinks.delta.commit import Identity, append, merge
from holdfast.sinks.delta.target import Target, open_target
from holdfast.sinks.merging import check_keys, check_output_mode

if TYPE_CHECKING:
    from holdfast.ledger.row import Attempt, LedgerRow
    from holdfast.sinks.sink import BeforeCommit


CONFLICT, SAME_APPLICATION = "DELTA_CONCURRENT", "DELTA_CONCURRENT_TRANSACTION"
COMMITS_BEFORE_ANEW = 8
"""After so many commits a start writes its row anew: Delta cleans old ones up."""
TRIES = 3
"""Against other writers of the table: somebody optimises it, or appends to it."""


class LeftOutError(HoldfastError):
    """Delta left a commit out: something under a higher version had come before it."""

    code = "LEFT_OUT"

    def __init__(self, shown: str, batch_id: int) -> None:
        super().__init__(
            what=f"Batch {batch_id} did not arrive in {shown}.",
            why="Delta left its commit out, and the log does not show by whom it was replaced.",
            how="Start the stream again: Spark runs the batch again, and the ledger decides.",
        )


class TableChangedError(HoldfastError):
    """The table does not hold any more what the ledger says; nothing was written."""

    code = "TABLE_CHANGED"

    def __init__(self, shown: str, batch_id: int, *, why: str) -> None:
        super().__init__(
            what=f"Batch {batch_id} was not written to {shown}.",
            why=f"It is not as this stream has left it: {why}.",
            how="Start the stream again: it says what can be done.",
        )


class Delta:
    """A Delta table: appended to, or merged into by `keys`."""

    def __init__(
        self,
        *,
        path: str | None = None,
        table: str | None = None,
        keys: Sequence[str] = (),
        sequence_by: str | None = None,
        name: str | None = None,
    ) -> None:
        """Describe the sink; nothing is opened yet.

        Args:
            path: Of the table; made when it is not there.
            table: Its name in a catalog, instead of a path.
            keys: Columns by which rows are merged; without them rows are appended.
            sequence_by: The column that says which of two rows with one key is newer.
            name: Identity in the ledger; by default the last part of path or table.

        Raises:
            ConfigError: Not one of path and table, or `sequence_by` without `keys`.
        """
        if (path is None) == (table is None):
            raise ConfigError("A Delta sink is given by path= or by table=.")
        self._path = path
        self._table = table
        self.keys = check_keys(keys, sequence_by)
        self.sequence_by = sequence_by
        self._name = name or table or str(path).rstrip("/").rpartition("/")[2]
        self._spark: Any = None
        self._target: Target | None = None
        self._ledgers: dict[str, DeltaLedger] = {}

    @property
    def name(self) -> str:
        """Its identity in the ledger."""
        return self._name

    @property
    def shown(self) -> str:
        """As people know it."""
        return f"the Delta table {self._table or self._path}"

    @property
    def place(self) -> str:
        """Where its rows are: known once it is prepared."""
        return self._path or (str(self._target.reader.location) if self._target else self._name)

    @property
    def is_appending(self) -> bool:
        """Whether it appends."""
        return not self.keys

    def prepare(self, df: Any, *, output_mode: str) -> None:
        """Find or make the table, and check that it takes the rows of a streaming DataFrame."""
        check_output_mode(output_mode, self.shown, keys=self.keys)
        self._spark = df.sparkSession
        self._target = open_target(
            df,
            path=self._path,
            table=self._table,
            keys=self.keys,
            sequence_by=self.sequence_by,
        )

    def read_row(self, stream: str) -> LedgerRow | None:
        """Return the ledger row of a stream."""
        standing = self._standing(stream)
        return None if standing is None else standing.row

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the table is not as the stream has left it."""
        return self._changed(row.stream, self._standing(row.stream))

    def _changed(self, stream: str, standing: Standing | None) -> str | None:
        by = None if standing is None else standing.replaced_by
        if by is not None:
            return f"version {by.version} of it ({by.operation}) took out what was there"
        lost = self._ledgers[stream].lost_fence()
        if lost is not None:
            return f"version {lost} of its log was replaced: a batch may be in it twice"
        return None

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None when the row is not its to take."""
        found = self.read_row(row.stream)
        if found is None or found.epoch >= epoch or found.binding != row.binding:
            return None
        fenced = self._fence(row.stream, found.generation, epoch=epoch, nonce=nonce)
        if fenced is None or fenced.row is None:
            return None
        if fenced.newest - fenced.row_version > COMMITS_BEFORE_ANEW:
            return fenced.row if self._commit_row(fenced.row, fenced) else None
        return fenced.row

    def replace_row(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the table with its epoch.

        Fenced first: then nothing comes in between what is compared and what is written.
        """
        fenced = self._fence(new.stream, new.generation, epoch=new.epoch, nonce=new.nonce)
        if fenced is None:
            return False
        expected = None if old is None else replace(old, epoch=new.epoch, nonce=new.nonce)
        if fenced.row != expected:
            return False
        return self._commit_row(new, fenced)

    def find_native(self, query_id: str) -> int | None:
        """Return the last batch that a query has brought by Delta's own sink."""
        assert self._target is not None
        return find_native_batch(self._target.reader, query_id)

    def fence_native(self, query_id: str) -> None:
        """Have Delta leave out everything that a query's own sink would still commit."""
        note = json.dumps({"holdfast": "replaced", "query_id": query_id})
        identity = Identity(app=query_id, version=NATIVE_FENCE, note=note)
        self._append_nothing(identity, is_there=lambda: False)

    def close(self) -> None:
        """Forget what was read; the next use reads it again."""
        self._ledgers.clear()

    def write(
        self, attempt: Attempt, batch: Any, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and commit it when it is to be applied."""
        assert self._target is not None
        reached("S2")
        standing = self._standing(attempt.stream)
        row = None if standing is None else standing.row
        decision = decide(row, attempt)  # S3
        reached("S3")
        if standing is None or row is None or not isinstance(decision, Apply):
            return decision
        if (changed := self._changed(attempt.stream, standing)) is not None:
            raise TableChangedError(self.shown, attempt.batch_id, why=changed)
        slot = FIRST_BATCH_SLOT + attempt.batch_id
        identity = Identity(
            app=app_id(attempt.stream, attempt.sink),
            version=transaction_version(attempt.generation, attempt.epoch, slot),
            note=encode_row(advance(row, attempt), fenced_at=standing.fenced_at),
        )
        before_commit(0)
        self._commit(batch, attempt, identity)  # S4 to S6
        reached("S6")
        return self._settle(attempt, identity)

    def _settle(self, attempt: Attempt, identity: Identity) -> Decision:
        """Say what became of a commit, from the log: Delta does not tell that it left one out."""
        if self._find(attempt.stream, identity) is not None:
            return Apply()
        decision = decide(self.read_row(attempt.stream), attempt)
        if isinstance(decision, Apply):
            raise LeftOutError(self.shown, attempt.batch_id)
        return decision

    def _commit(self, batch: Any, attempt: Attempt, identity: Identity) -> None:
        """Commit a batch; an error counts only when it is not there and nobody else was faster."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        assert self._target is not None
        commit = merge if self.keys else append
        for tries_left in reversed(range(TRIES)):
            try:
                commit(batch, self._target, identity)
            except (PySparkException, Py4JJavaError) as error:
                # Its own commit decides too: a batch that is there is skipped.
                decision = decide(self.read_row(attempt.stream), attempt)
                if not isinstance(decision, Apply):
                    return  # what has become of it is in the log
                if not tries_left or CONFLICT not in str(error):
                    raise
            else:
                return

    def _fence(self, stream: str, generation: int, *, epoch: int, nonce: str) -> Standing | None:
        version = transaction_version(generation, epoch, FENCE_SLOT)
        note = encode_fence(epoch=epoch, nonce=nonce)
        return self._commit_nothing(stream, version, note=note)

    def _commit_row(self, row: LedgerRow, fenced: Standing) -> bool:
        """Commit a row without data, under the epoch that has fenced the table."""
        version = transaction_version(row.generation, row.epoch, ROW_SLOT)
        note = encode_row(row, fenced_at=fenced.fenced_at)
        return self._commit_nothing(row.stream, version, note=note) is not None

    def _commit_nothing(self, stream: str, version: int, *, note: str) -> Standing | None:
        """Commit no rows under a version; None when the log then does not show it as the newest."""
        identity = Identity(app=app_id(stream, self._name), version=version, note=note)
        self._append_nothing(identity, is_there=lambda: self._find(stream, identity) is not None)
        reached("fenced")
        return self._find(stream, identity)

    def _append_nothing(self, identity: Identity, *, is_there: Callable[[], bool]) -> None:
        """Append no rows; what is in the log counts, whatever was said of it."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        assert self._target is not None
        try:
            append(self._spark.table(self._target.name).limit(0), self._target, identity)
        except (PySparkException, Py4JJavaError) as error:
            if SAME_APPLICATION not in str(error) and not is_there():
                raise

    def _find(self, stream: str, identity: Identity) -> Standing | None:
        """Return how the stream stands, when this is its newest commit; else None."""
        standing = self._standing(stream)
        own = None if standing is None else standing.own
        is_it = own is not None and own.note == identity.note
        if own is None or not is_it or own.transactions[identity.app] != identity.version:
            return None
        return standing

    def _standing(self, stream: str) -> Standing | None:
        assert self._target is not None
        app = app_id(stream, self._name)
        if stream not in self._ledgers:
            self._ledgers[stream] = DeltaLedger(self._target.reader, app)
        return self._ledgers[stream].read()

"""`hf.Delta`: a Delta table as an exactly-once sink."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import ConfigError
from holdfast.ledger.decide import Apply, Decision, Refuse, decide
from holdfast.ledger.delta import (
    FENCE_SLOT,
    FIRST_BATCH_SLOT,
    NATIVE_FENCE,
    ROW_SLOT,
    DeltaLedger,
    Standing,
    app_id,
    find_native_batch,
    transaction_version,
)
from holdfast.ledger.delta_notes import encode_fence, encode_replaced, encode_row
from holdfast.ledger.row import advance
from holdfast.points import reached
from holdfast.sinks.delta.change import find_change
from holdfast.sinks.delta.commit import Identity, append, merge
from holdfast.sinks.delta.failures import CONFLICT, SAME_APPLICATION, LeftOutError, failure_of
from holdfast.sinks.delta.target import Target, open_target
from holdfast.sinks.merging import check_keys, check_output_mode
from holdfast.sinks.table_changed import TableChangedError
from holdfast.storage.location import refuse_credentials

if TYPE_CHECKING:
    from holdfast.ledger.row import Attempt, LedgerRow
    from holdfast.sinks.sink import BeforeCommit

_LOG = logging.getLogger("holdfast")
COMMITS_BEFORE_ANEW = 8
"""After so many commits a start writes its row anew: Delta cleans old ones up."""
TRIES = 3
"""Against other writers of the table: somebody optimises it, or appends to it."""


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
            name: Its label in a ledger that does not know the table yet; by default the last part
                of path or table.

        Raises:
            ConfigError: Not one of path and table, or `sequence_by` without `keys`.
            CredentialsInLocationError: The path holds credentials.
        """
        if (path is None) == (table is None):
            raise ConfigError("A Delta sink is given by path= or by table=.")
        refuse_credentials(str(path or table))
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
        """Its label in the ledger; once it is prepared, the one its table has there already."""
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
    def identity(self) -> str:
        """The table's location; once it is prepared, the same however it is named."""
        return self._target.identity if self._target else self.place

    @property
    def is_appending(self) -> bool:
        """Whether it appends."""
        return not self.keys

    def prepare(self, df: Any, *, stream: str, output_mode: str) -> Delta:
        """Return this sink for one start, once its table takes the rows of a streaming DataFrame.

        A table that is not there is made. What is returned shares nothing that changes.
        """
        check_output_mode(output_mode, self.shown, keys=self.keys)
        mine = copy.copy(self)
        mine.open(df, stream)
        return mine

    def open(self, df: Any, stream: str) -> None:
        """Find the table, or make it, and the label that its log has for the stream."""
        self._ledgers = {}
        self._spark = df.sparkSession
        keys, order = self.keys, self.sequence_by
        self._target = open_target(
            df, path=self._path, table=self._table, keys=keys, sequence_by=order
        )
        self._standing(stream)
        label = self._ledgers[stream].label
        if label != self._name:
            _LOG.info("holdfast: %s has the ledger row %s of %s", self.shown, label, stream)
        self._name = label

    def read_row(self, stream: str) -> LedgerRow | None:
        """Return the ledger row of a stream."""
        standing = self._standing(stream)
        return None if standing is None else standing.row

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the table is not as the stream has left it."""
        return self._changed(row.stream, self._standing(row.stream))

    def _changed(self, stream: str, standing: Standing | None) -> str | None:
        assert self._target is not None
        return find_change(self._ledgers[stream], standing, target=self._target)

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None if the row is not this start's to take."""
        found = self.read_row(row.stream)
        if found is None or found.epoch >= epoch or found.binding != row.binding:
            return None
        fenced = self._fence(row.stream, found.generation, epoch=epoch, nonce=nonce)
        if fenced is None or fenced.row is None:
            return None
        is_old = fenced.newest - fenced.row_version > COMMITS_BEFORE_ANEW
        if is_old and self._changed(row.stream, fenced) is None:
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
        identity = Identity(app=query_id, version=NATIVE_FENCE, note=encode_replaced(query_id))
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
        standing, decision = self._judge(attempt)  # S3
        reached("S3")
        row = None if standing is None else standing.row
        if standing is None or row is None or not isinstance(decision, Apply):
            return decision
        slot = FIRST_BATCH_SLOT + attempt.batch_id
        identity = Identity(
            app=app_id(attempt.stream, attempt.sink),
            version=transaction_version(attempt.generation, attempt.epoch, slot),
            note=self._note(advance(row, attempt), standing),
        )
        before_commit(0)
        self._commit(batch, attempt, identity)  # S4 to S6
        reached("S6")
        return self._settle(attempt, identity)

    def _judge(self, attempt: Attempt) -> tuple[Standing | None, Decision]:
        """Decide about a batch, and see that the table is as the stream has left it.

        Raises:
            TableChangedError: It is not.
        """
        standing = self._standing(attempt.stream)
        decision = decide(None if standing is None else standing.row, attempt)
        if not isinstance(decision, Refuse):
            changed = self._changed(attempt.stream, standing)
            if changed is not None:
                raise TableChangedError(self.shown, attempt.batch_id, why=changed)
        return standing, decision

    def _settle(self, attempt: Attempt, identity: Identity) -> Decision:
        """Say what became of a commit, from the log: Delta does not tell that it left one out."""
        if self._find(attempt.stream, identity) is not None:
            return Apply()
        _, decision = self._judge(attempt)
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
                _, decision = self._judge(attempt)
                if not isinstance(decision, Apply):
                    return  # what has become of it is in the log
                if not tries_left or CONFLICT not in str(error):
                    raise failure_of(error, self.shown, attempt.batch_id) or error from error
            else:
                return

    def _fence(self, stream: str, generation: int, *, epoch: int, nonce: str) -> Standing | None:
        version = transaction_version(generation, epoch, FENCE_SLOT)
        return self._commit_nothing(stream, version, note=encode_fence(epoch=epoch, nonce=nonce))

    def _commit_row(self, row: LedgerRow, fenced: Standing) -> bool:
        """Commit a row without data, under the epoch that has fenced the table."""
        version = transaction_version(row.generation, row.epoch, ROW_SLOT)
        return self._commit_nothing(row.stream, version, note=self._note(row, fenced)) is not None

    def _note(self, row: LedgerRow, standing: Standing) -> str:
        """Return a row as its commit carries it: with its fence and its table."""
        assert self._target is not None
        at, seen = standing.fenced_at, standing.newest
        return encode_row(row, fenced_at=at, table_id=self._target.table_id, seen=seen)

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
            nothing = self._spark.table(self._target.name).select(*self._target.columns).limit(0)
            append(nothing, self._target, identity)
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

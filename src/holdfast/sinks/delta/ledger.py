"""The ledger of a Delta table, opened from its spec.

Reading needs no Spark, only the table's log. A fence and a row are commits, which Spark makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError, HoldfastError
from holdfast.events import emit, starts
from holdfast.formats.delta_log import NATIVE_FENCE, find_native_batch
from holdfast.ledger.output import CannotSettleError, KeepOutput, Output
from holdfast.ledger.store import LedgerStore, Since, Unreadable
from holdfast.sinks.delta.change import find_change
from holdfast.sinks.delta.commit import Identity, append_nothing, landing
from holdfast.sinks.delta.commit_notes import encode_fence, encode_replaced, encode_row
from holdfast.sinks.delta.log_ledger import (
    FENCE_SLOT,
    ROW_SLOT,
    DeltaLedger,
    LedgerState,
    app_id,
    transaction_version,
    version_after,
)
from holdfast.sinks.delta.settle import Settling
from holdfast.sinks.delta.since import changes_rows, find_opening
from holdfast.sinks.delta.table import find_other, open_target, sql_name
from holdfast.sinks.delta.target import Target
from holdfast.sinks.delta.versions import (
    find_batch_versions,
    find_other_streams,
    find_version_before,
    walk_rows,
)
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.delta.sink import Delta

COMMITS_BEFORE_ANEW = 8
"""After so many commits a start writes its row anew: Delta cleans old ones up."""


def open_ledger(
    sink: Delta, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
) -> DeltaLedgerStore:
    """Open the ledger of a table that is there.

    Raises:
        ConfigError: The table is named in a catalog, and there is no session to ask.
    """
    if spark is not None:
        return DeltaLedgerStore(sink, open_target(spark, sink), spark)
    if sink.path is None:
        raise ConfigError(f"{sink.display_name} is named in a catalog: only Spark knows it.")
    reader = open_reader(parse_location(sink.path), options)
    return DeltaLedgerStore(sink, Target(name=sql_name(sink), reader=reader))


class DeltaLedgerStore(LedgerStore):
    """The ledger of one table; what it has read of the log it does not read again."""

    keeps_versions = True

    def __init__(self, sink: Delta, target: Target, spark: SparkSession | None = None) -> None:
        """Read nothing yet."""
        self._sink = sink
        self.target = target
        """The table, as a start has found or created it."""
        self._spark = spark
        self._ledgers: dict[str, DeltaLedger] = {}

    def label(self, stream: str) -> str:
        """Return the name under which the log has the stream's rows."""
        known = self._ledgers.get(stream)
        return self._sink.label if known is None else known.label

    def read(self, stream: str) -> LedgerRow | Unreadable | None:
        """Return the ledger row of a stream; None without one, or without a table."""
        try:
            standing = self.standing(stream)
        except HoldfastError as error:
            return Unreadable.by(error)
        return None if standing is None else standing.row

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the table is not as the stream has left it."""
        return self.find_change(row.stream, self.standing(row.stream))

    def find_change(self, stream: str, standing: LedgerState | None) -> str | None:
        """Say what is different from what the log says of the stream."""
        ledger = self._ledgers[stream]
        return self.find_other(standing) or find_change(ledger, standing, target=self.target)

    def find_other(self, standing: LedgerState | None) -> str | None:
        """Say that another table is where the stream's was, when the log does not tell."""
        if self._spark is None or standing is None:
            return None
        return find_other(self._spark, self.target, standing)

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None if the row is not this start's to take."""
        fenced = self._take(row, epoch=epoch, nonce=nonce)
        if fenced is None or fenced.row is None:
            return None
        is_old = fenced.newest - fenced.row_version > COMMITS_BEFORE_ANEW
        if is_old and self.find_change(row.stream, fenced) is None:
            return fenced.row if self._commit_row(fenced.row, fenced) else None
        return fenced.row

    def hold(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let nobody write but a plan; the row is not written anew, the plan's comes next."""
        fenced = self._take(row, epoch=epoch, nonce=nonce)
        return None if fenced is None else fenced.row

    def _take(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerState | None:
        standing = self.standing(row.stream)
        found = None if standing is None else standing.row
        if found is None or found.epoch >= epoch or found.binding != row.binding:
            return None
        return self._fence(row.stream, found.generation, epoch=epoch, nonce=nonce)

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the table with its epoch.

        Fenced first: then nothing comes in between what is compared and what is written.
        """
        fenced = self._fence(new.stream, new.generation, epoch=new.epoch, nonce=new.nonce)
        return fenced is not None and fenced.holds(old, new) and self._commit_row(new, fenced)

    def correct(self, old: LedgerRow, new: LedgerRow) -> bool:
        """Set where the last batch ended, under the number of the next, in an unchanged table."""
        standing = self.standing(old.stream)
        if standing is None or standing.row != old or self.find_change(old.stream, standing):
            return False
        note, version = self.note(new, standing), version_after(old)
        return self._commit_nothing(old.stream, version, note=note) is not None

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        """Empty, restore or keep the table, and set its row, in one commit behind a fence."""
        if isinstance(output, KeepOutput):
            return self.replace(old, new)
        fenced = self._fence(new.stream, new.generation, epoch=new.epoch, nonce=new.nonce)
        if fenced is None or not fenced.holds(old, new):
            return False
        settling = self._settling(new, fenced.newest)
        obstacle = settling.find_obstacle(output, seen=seen)
        if obstacle is not None:
            raise CannotSettleError(self._sink.display_name, obstacle)
        version = transaction_version(new.generation, new.epoch, ROW_SLOT)
        identity = self._identity(new.stream, version, self.note(new, fenced))
        self._commit_rows(settling, output, identity)
        emit(starts.SinkSettled(new.stream, self.label(new.stream)))
        settled = self.find(new.stream, identity)
        if settled is not None and settled.own is not None:
            settling.refuse_slipped_in(before=settled.own.version - 1)
        return settled is not None

    def _settling(self, new: LedgerRow, newest: int) -> Settling:
        return Settling(
            target=self.target,
            display_name=self._sink.display_name,
            stream=new.stream,
            newest=newest,
            keys=tuple(self._sink.keys),
            own=self.own_queries(new),
        )

    def own_queries(self, row: LedgerRow) -> frozenset[str]:
        """Return the queries whose own Delta sink writes for the stream: none, as a rule."""
        del row
        return frozenset()

    def since(self, stream: str, *, generation: int) -> Since:
        """Say what the log has since a generation was opened."""
        newest = self._newest(stream)
        opened = find_opening(self.target.reader, newest, stream=stream, generation=generation)
        if opened is None:
            return Since(unclear="the log does not reach back to where the generation was opened")
        return opened.since

    def find_obstacle(self, new: LedgerRow, output: Output) -> str | None:
        """Say why the table could not be settled, from its log."""
        standing = self.standing(new.stream)
        if standing is None:
            return None if isinstance(output, KeepOutput) else f"{self._sink.display_name} is gone."
        return self._settling(new, standing.newest).find_obstacle(output)

    def table_version(self, stream: str) -> str | None:
        """Return the newest version of the table; None when there is no table."""
        standing = self.standing(stream)
        return None if standing is None else str(standing.newest)

    def has_changed(self, stream: str, seen: str | None) -> bool:
        """Return whether a commit since then has changed rows: a fence has not."""
        if seen is None or not seen.isdecimal():
            return seen is not None
        return changes_rows(self.target.reader, self._newest(stream), after=int(seen))

    def other_streams(self, stream: str) -> tuple[str, ...]:
        """Return the other streams whose rows the newest commits carry."""
        return find_other_streams(self.target.reader, self._newest(stream), stream=stream)

    def version_before(self, stream: str, *, generation: int, batch: int) -> str | None:
        """Return the version before the oldest of the newest commits that carry a row."""
        rows = walk_rows(self.target.reader, self._newest(stream), stream=stream)
        return find_version_before(rows, generation=generation, batch=batch)

    def batch_versions(self, stream: str) -> Mapping[int, str]:
        """Return the newest version that holds the stream just up to each batch."""
        rows = walk_rows(self.target.reader, self._newest(stream), stream=stream)
        return find_batch_versions(rows)

    def _newest(self, stream: str) -> int:
        """Return the newest version of the table; -1 when there is no table."""
        standing = self.standing(stream)
        return -1 if standing is None else standing.newest

    def find_native(self, query_id: str) -> int | None:
        """Return the last batch that a query has committed by Delta's own sink."""
        return find_native_batch(self.target.reader, query_id)

    def fence_native(self, query_id: str) -> None:
        """Have Delta leave out everything that a query's own sink would still commit."""
        identity = Identity(app=query_id, version=NATIVE_FENCE, note=encode_replaced(query_id))
        self._append_nothing(identity, is_there=lambda: False)

    def close(self) -> None:
        """Forget what was read; the next use reads it again."""
        self._ledgers.clear()

    def find(self, stream: str, identity: Identity) -> LedgerState | None:
        """Return how the stream stands, when this is its newest commit; else None."""
        standing = self.standing(stream)
        return standing if standing is not None and standing.ends_with(identity) else None

    def standing(self, stream: str) -> LedgerState | None:
        """Return what the log says of a stream; None when there is no table.

        Raises:
            ReadError: The store did not let us read.
        """
        if stream not in self._ledgers:
            app = app_id(stream, self._sink.label)
            self._ledgers[stream] = DeltaLedger(self.target.reader, app)
        return self._ledgers[stream].read()

    def note(self, row: LedgerRow, standing: LedgerState) -> str:
        """Return a row as its commit carries it: with its fence and its table."""
        at, seen = standing.fenced_at, standing.newest
        return encode_row(row, fenced_at=at, table_id=self.target.table_id, seen=seen)

    def _identity(self, stream: str, version: int, note: str) -> Identity:
        return Identity(app=app_id(stream, self.label(stream)), version=version, note=note)

    def _fence(self, stream: str, generation: int, *, epoch: int, nonce: str) -> LedgerState | None:
        version = transaction_version(generation, epoch, FENCE_SLOT)
        return self._fencing(stream, version, note=encode_fence(epoch=epoch, nonce=nonce))

    def _commit_row(self, row: LedgerRow, fenced: LedgerState) -> bool:
        """Commit a row without data, under the epoch that has fenced the table."""
        version = transaction_version(row.generation, row.epoch, ROW_SLOT)
        return self._fencing(row.stream, version, note=self.note(row, fenced)) is not None

    def _fencing(self, stream: str, version: int, *, note: str) -> LedgerState | None:
        found = self._commit_nothing(stream, version, note=note)
        emit(starts.SinkFenced(stream, self.label(stream)))
        return found

    def _commit_nothing(self, stream: str, version: int, *, note: str) -> LedgerState | None:
        """Commit no rows under a version; None when the log then does not show it as the newest."""
        identity = self._identity(stream, version, note)
        self._append_nothing(identity, is_there=lambda: self.find(stream, identity) is not None)
        return self.find(stream, identity)

    def _session(self) -> SparkSession:
        if self._spark is None:
            raise ConfigError(f"Changing {self._sink.display_name} takes a Spark session.")
        return self._spark

    def _commit_rows(self, settling: Settling, output: Output, identity: Identity) -> None:
        """Put no rows, or those of an older version, in the place of all."""
        shown = self._sink.display_name
        with landing(lambda: self.find(settling.stream, identity) is not None, shown):
            settling.commit(self._session(), output, identity)

    def _append_nothing(self, identity: Identity, *, is_there: Callable[[], bool]) -> None:
        """Append no rows."""
        with landing(is_there, self._sink.display_name):
            append_nothing(self._session(), self.target, identity)

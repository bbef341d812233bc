"""The ledger of an Iceberg table: a property that is set in the commit that changes `main`.

Only the catalog knows which metadata file is current: a driver that is killed in a commit can leave
a newer file that was never committed. A session knows the catalog; without one `catalog=` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.events import emit, starts
from holdfast.ledger.output import CannotSettleError, KeepOutput, Output
from holdfast.sinks.iceberg.catalog_ledger import CatalogLedgerStore
from holdfast.sinks.iceberg.change import find_change
from holdfast.sinks.iceberg.failures import failure_of, is_missing
from holdfast.sinks.iceberg.notes import (
    Written,
    branch_of,
    encode_note,
    encode_row,
    property_of,
)
from holdfast.sinks.iceberg.reading import LedgerReader
from holdfast.sinks.iceberg.staging import place_branch
from holdfast.sinks.iceberg.table import open_target
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import existing_session, port_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.iceberg.sink import Iceberg
    from holdfast.sinks.iceberg.target import Target
    from holdfast.spark.iceberg_step import IcebergStep

TRIES = 20
"""Against other writers of the table: each of them lets one commit of ours fail."""
Prepare = Callable[["IcebergStep", Written | None], "LedgerRow | None"]
"""Puts a change into a step and returns the row that comes with it; None: nothing is to be done."""


def open_ledger(
    sink: Iceberg, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
) -> LedgerReader:
    """Open the ledger of a table: by a session, by `catalog=`, or by the session of this process.

    Raises:
        ConfigError: There is none of them: only the catalog knows which metadata is current.
        IcebergTableError: The session cannot use Iceberg, or the catalog is not one that is run.
    """
    if spark is None and sink.catalog is not None:
        return CatalogLedgerStore(sink, sink.catalog, options or {})
    spark = existing_session() if spark is None else spark
    if spark is None:
        name = sink.display_name
        raise ConfigError(
            f"{name} is named in a catalog, and only the catalog knows which metadata file is "
            'current. Say where it is when the stream starts, hf.Iceberg(…, catalog="env:NAME"), '
            "or ask from Python, in a process with a Spark session."
        )
    return IcebergLedgerStore(sink, open_target(spark, sink), spark)


class IcebergLedgerStore(LedgerReader):
    """The ledger of one table, by a session."""

    def __init__(self, sink: Iceberg, target: Target, spark: SparkSession) -> None:
        """Read nothing yet."""
        super().__init__(sink)
        self.target = target
        """The table, as a start has found or created it."""
        self._tables = port_of(spark).iceberg_tables(spark)

    def use(self, spark: SparkSession) -> None:
        """Use another session: each has a catalog, and a cache of tables, for itself."""
        self._tables = port_of(spark).iceberg_tables(spark)

    def begin(self, stream: str) -> tuple[IcebergStep, Written | None] | None:
        """Return a step on the newest metadata and the row in it; None without a table.

        Raises:
            IcebergTableError: What is in the place of the row is none.
            IcebergRefusedError: The catalog did not answer.
        """
        step = self.look()
        return None if step is None else (step, self.written(step, stream))

    def look(self) -> IcebergStep | None:
        """Return a step on the newest metadata; None without a table.

        Raises:
            IcebergRefusedError: The catalog did not answer.
        """
        try:
            return self._tables.begin(self.target.name)
        except spark_errors() as error:
            if is_missing(error):
                return None
            raise failure_of(error, self._sink.display_name) from error

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None if the row is not this start's to take."""

        def take(step: IcebergStep, written: Written | None) -> LedgerRow | None:
            found = None if written is None else written.row
            if found is None or found.epoch >= epoch or found.binding != row.binding:
                return None
            fenced = replace(found, epoch=epoch, nonce=nonce)
            step.append_nothing(encode_note(fenced))
            return fenced

        def is_mine(written: Written | None) -> bool:
            found = None if written is None else written.row
            return found is not None and (found.epoch, found.nonce) == (epoch, nonce)

        if not self._swap(row.stream, take, has_landed=is_mine, is_fence=True):
            return None
        emit(starts.SinkFenced(row.stream, self.label(row.stream)))
        fenced = self.begin(row.stream)
        return fenced[1].row if fenced is not None and is_mine(fenced[1]) and fenced[1] else None

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the table with its epoch."""
        return self.settle(old, new, KeepOutput())

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        """Empty, restore or keep the table, and set its row, in one commit."""

        def change(step: IcebergStep, written: Written | None) -> LedgerRow | None:
            if (None if written is None else written.row) != old:
                return None
            if isinstance(output, KeepOutput):
                step.append_nothing(encode_note(new))
                return new
            settling = self.settling(step, new.stream)
            obstacle = settling.find_obstacle(output, seen=seen)
            if obstacle is not None:
                raise CannotSettleError(self._sink.display_name, obstacle)
            settling.put(step, output, new)
            return new

        def is_there(written: Written | None) -> bool:
            return written is not None and written.row == new

        if not self._swap(new.stream, change, has_landed=is_there):
            return False
        self._labels[new.stream] = new.sink
        if isinstance(output, KeepOutput):
            emit(starts.SinkFenced(new.stream, new.sink))
        else:
            emit(starts.SinkSettled(new.stream, new.sink))
        return True

    def _swap(
        self,
        stream: str,
        prepare: Prepare,
        *,
        has_landed: Callable[[Written | None], bool],
        is_fence: bool = False,
    ) -> bool:
        """Commit a change with its row, as the only one since it was looked at."""
        lost: Exception | None = None
        for _ in range(TRIES):
            found = self.begin(stream)
            if found is None:
                break
            step, written = found
            if lost is not None and has_landed(written):
                return True  # only its answer was lost
            try:
                row = prepare(step, written)
                if row is None:
                    return False
                keeps = self._unexamined(step, written) if is_fence else None
                self.put(step, row, keeps=keeps)
                step.commit()
            except spark_errors() as error:
                lost = error
            else:
                return True
        if lost is None:
            return False
        raise failure_of(lost, self._sink.display_name) from lost

    def _unexamined(self, step: IcebergStep, written: Written | None) -> Written | None:
        """Return what a row said of a table that has changed since it was judged.

        Such a row goes on saying it, so that the change is found. A change that was judged was
        accepted: the row then names the table as it is now.
        """
        if written is None or self._examined.get(written.row.stream, -1) == step.head:
            return None
        return written if find_change(step, written) is not None else None

    def put(self, step: IcebergStep, row: LedgerRow, *, keeps: Written | None = None) -> None:
        """Set the row of a stream in a step, and have the branch of its epoch where `main` is."""
        head = step.new_head
        assert head is not None  # every commit of ours has put a snapshot there
        if step.snapshot_of(branch_of(row.stream, row.epoch)) != head:
            place_branch(step, row.stream, epoch=row.epoch, at=head)
        snapshot, uuid = (head, step.uuid) if keeps is None else (keeps.snapshot, keeps.uuid)
        step.set_property(property_of(row.stream), encode_row(row, snapshot=snapshot, uuid=uuid))

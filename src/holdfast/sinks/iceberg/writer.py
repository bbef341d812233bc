"""Writes the batches of one start into an Iceberg table: rows and ledger in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.events import emit
from holdfast.events.event import Informed
from holdfast.sinks.iceberg.catalog_ledger import say_catalog
from holdfast.sinks.iceberg.failures import IcebergTableError
from holdfast.sinks.iceberg.ledger import IcebergLedgerStore
from holdfast.sinks.iceberg.table import find_target, make_table
from holdfast.sinks.iceberg.write import BatchWrite
from holdfast.sinks.sink import SinkWriter
from holdfast.sinks.table_changed import TableChangedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.ledger.decide import Decision
    from holdfast.ledger.row import Attempt
    from holdfast.sinks.iceberg.sink import Iceberg
    from holdfast.sinks.iceberg.target import Target
    from holdfast.sinks.sink import BeforeCommit


def resolve_writer(sink: Iceberg, df: DataFrame, stream: str) -> IcebergWriter:
    """Find the table, check that it takes a streaming DataFrame, and find its label in the ledger.

    Raises:
        IcebergTableError: It does not take the rows, or settings would break the ledger.
        ConfigError: A key is no column of the stream.
    """
    writer = IcebergWriter(sink, find_target(df, sink), df=df, stream=stream)
    writer.unread = say_catalog(sink, writer.ledger.target.uuid)
    writer.ledger.read(stream)
    if writer.name != sink.label:
        emit(Informed(f"{sink.display_name} has the ledger row {writer.name} of {stream}"))
    return writer


class IcebergWriter(SinkWriter):
    """One start's commits to one table."""

    _sink: Iceberg

    def __init__(self, sink: Iceberg, target: Target, *, df: DataFrame, stream: str) -> None:
        """Write nothing yet."""
        super().__init__(sink)
        self._df = df
        self._stream = stream
        self.unread = ""
        """Why commands without Spark could not read its catalog; empty if they can."""
        self._ledger = IcebergLedgerStore(sink, target, df.sparkSession)

    @property
    def name(self) -> str:
        """The label that the ledger has for the stream."""
        return self._ledger.label(self._stream)

    @property
    def identity(self) -> str:
        """The table's own id; its name while there is no table."""
        target = self._ledger.target
        return f"iceberg:{target.uuid or target.name}"

    @property
    def ledger(self) -> IcebergLedgerStore:
        """Its ledger."""
        return self._ledger

    def warnings(self) -> tuple[str, ...]:
        """Say so when commands without Spark cannot read the catalog."""
        return (self.unread,) if self.unread else ()

    def look_again(self) -> None:
        """Find a table that another driver has created since."""
        if self._ledger.target.is_missing:
            self._ledger.close()
            self._ledger.target = find_target(self._df, self._sink)
            self._ledger.read(self._stream)

    def create(self) -> None:
        """Create the table when it is not there, with the columns of the stream."""
        if self._ledger.target.is_missing:
            make_table(self._df, self._sink)
            self.look_again()

    def close(self) -> None:
        """Forget what was read."""
        self._ledger.close()

    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and commit it when it is to be applied."""
        self._ledger.use(batch.sparkSession)
        self._check_columns(attempt)
        writing = BatchWrite(
            self._ledger,
            attempt,
            batch,
            shown=self.display_name,
            before_commit=before_commit,
        )
        return writing.run()

    def _check_columns(self, attempt: Attempt) -> None:
        """Compare the columns again when the table has others than at the last look.

        Raises:
            TableChangedError: It would not hold the values as the stream brings them.
        """
        found = self._ledger.begin(attempt.stream)
        target = self._ledger.target
        if found is None or found[0].uuid != target.uuid:
            return  # the batch says so
        if found[0].schema_id == target.schema_id:
            return
        try:
            self._ledger.target = find_target(self._df, self._sink)
        except IcebergTableError as error:
            shown, batch = self.display_name, attempt.batch_id
            raise TableChangedError(shown, batch, why=error.why.rstrip(".")) from error

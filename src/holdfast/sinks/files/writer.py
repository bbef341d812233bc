"""Writes the batches of one start as files: staged, taken into the token, published by a rename."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import ReadError, WriteError
from holdfast.events import emit
from holdfast.events.batches import (
    Committed,
    Decided,
    LedgerAdvanced,
    RowsSent,
    RowsWritten,
    StepOpened,
    fields_of,
)
from holdfast.ledger.decide import Apply, Decision, Refuse, Skip, decide
from holdfast.ledger.row import advance
from holdfast.sinks.files.columns import columns_of
from holdfast.sinks.files.examine import data_files
from holdfast.sinks.files.failures import NotPublishedError, TooManyFilesError
from holdfast.sinks.files.layout import NOTE, BatchName, staging_name
from holdfast.sinks.files.ledger import FilesLedgerStore
from holdfast.sinks.files.place import directory_of, location_of
from holdfast.sinks.files.record import BatchNote, encode_note
from holdfast.sinks.files.staging import stage
from holdfast.sinks.files.target import check_target, find_unexpected
from holdfast.sinks.sink import SinkWriter
from holdfast.sinks.table_changed import TableChangedError
from holdfast.storage.location import spark_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.files.directory import State
    from holdfast.sinks.files.sink import Files
    from holdfast.sinks.sink import BeforeCommit


def resolve_writer(sink: Files, df: DataFrame, stream: str) -> FilesWriter:
    """Check the columns of a streaming DataFrame, and look at the directory.

    Raises:
        HoldfastError: The directory does not take the rows, or cannot be used.
    """
    spark = df.sparkSession
    ledger = FilesLedgerStore(sink, lambda: directory_of(sink, spark))
    writer = FilesWriter(sink, ledger, df=df, stream=stream)
    check_target(ledger.directory, sink, df=df, stream=stream)
    return writer


class FilesWriter(SinkWriter):
    """One start's batches in one directory."""

    _sink: Files

    def __init__(
        self, sink: Files, ledger: FilesLedgerStore, *, df: DataFrame, stream: str
    ) -> None:
        """Write nothing yet."""
        super().__init__(sink)
        self._ledger = ledger
        self._stream = stream
        self._location = str(location_of(sink, df.sparkSession))
        self._known: State | None = None

    @property
    def name(self) -> str:
        """The label that the ledger has for the stream."""
        return self._ledger.label(self._stream)

    @property
    def identity(self) -> str:
        """The directory, the same however it is reached."""
        return self._location

    @property
    def recorded_place(self) -> str:
        """The directory's location."""
        return self._location

    @property
    def ledger(self) -> FilesLedgerStore:
        """Its ledger."""
        return self._ledger

    def warnings(self) -> tuple[str, ...]:
        """Name what is in the directory and is no batch: readers take it for data."""
        found = find_unexpected(self._ledger.directory)
        if found is None:
            return ()
        return (f"{self.display_name}: readers also see {found}, which is no batch of Holdfast",)

    def create(self) -> None:
        """Create the directory, and see that what is beside it can be renamed into it."""
        directory = self._ledger.directory
        directory.mover.make_directory(directory.name)
        directory.try_rename()

    def close(self) -> None:
        """Forget what was read."""
        self._known = None
        self._ledger.close()

    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and publish it when it is to be applied."""
        at = fields_of(attempt)
        emit(StepOpened(**at))  # S2
        state, decision = self._judge(attempt)  # S3
        emit(Decided(**at, decision=decision.word))
        if state is None or not isinstance(decision, Apply):
            return decision
        directory = self._ledger.directory
        staged = self._stage(state, attempt, batch)  # S4
        try:
            if not directory.claim(state, staged):
                return self._what_came_between(attempt, step="taken into the ledger")
            emit(LedgerAdvanced(**at))  # S5: it is in the row of the next name
            before_commit(0)
            if self._publish(state, staged, attempt):  # S6
                emit(Committed(**at))
                return Apply()
            return self._what_came_between(attempt, step="renamed")
        except BaseException:
            directory.drop_staged(state)
            raise

    def _judge(self, attempt: Attempt) -> tuple[State | None, Decision]:
        """Decide about a batch, and see that the last one is still there.

        Raises:
            TableChangedError: It is not.
        """
        state = self._read(attempt.stream)
        decision = decide(None if state is None else state.row, attempt)
        if state is not None and not isinstance(decision, Refuse):
            changed = self._find_change(state)
            if changed is not None:
                raise TableChangedError(self.display_name, attempt.batch_id, why=changed)
        return state, decision

    def _read(self, stream: str) -> State | None:
        """Return what is there; only its token is read again while it is the same.

        Nobody else can publish with that token, so the row is what it was.
        """
        known = self._known
        if known is None or self._ledger.directory.token(stream) != known.token:
            self._known = self._ledger.directory.read(stream)
        return self._known

    def _find_change(self, state: State) -> str | None:
        directory = self._ledger.directory
        if not directory.exists:
            return "the directory was deleted"
        last = state.last
        note = None if last is None else directory.places(last.stream).note(last)
        if note is not None and directory.mover.stat(note) is None:
            return f"batch {state.row.last_batch} is not there any more"
        return None

    def _stage(self, state: State, attempt: Attempt, batch: DataFrame) -> str:
        """Write the files and the note where no reader looks; return the name of their place."""
        directory, at = self._ledger.directory, fields_of(attempt)
        name = staging_name(attempt.epoch)
        path = directory.places(attempt.stream).staging(name)
        mover = directory.mover
        stage(batch, self._sink, spark_location(mover.location.join(path)))
        emit(RowsSent(**at, rows=0))
        files = data_files(list(mover.walk(path)), path)
        if len(files) > self._sink.max_files:
            mover.delete_tree(path)
            raise TooManyFilesError(
                self.display_name, attempt.batch_id, found=len(files), most=self._sink.max_files
            )
        note = BatchNote(
            row=advance(state.row, attempt),
            files=files,
            columns=columns_of(batch.schema),
            partition_by=tuple(self._sink.partition_by),
        )
        mover.put_if_absent(f"{path}/{NOTE}", encode_note(note))
        mover.sync_tree(path)
        emit(RowsWritten(**at))
        return name

    def _publish(self, state: State, staged: str, attempt: Attempt) -> bool:
        batch = BatchName(attempt.stream, attempt.generation, attempt.batch_id)
        try:
            is_published = self._ledger.directory.publish(state, staged, batch)
        except (WriteError, ReadError):
            # The answer may be lost: what is there decides.
            self._known = None
            _, decision = self._judge(attempt)
            if not isinstance(decision, Skip):
                raise
            return True
        if is_published:
            self._known = state.after(batch, advance(state.row, attempt))
        return is_published

    def _what_came_between(self, attempt: Attempt, *, step: str) -> Decision:
        """Return what the ledger says of a batch that could not be moved.

        Raises:
            NotPublishedError: It says that the batch may be written.
        """
        self._known = None
        _, decision = self._judge(attempt)
        if isinstance(decision, Apply):
            raise NotPublishedError(self.display_name, attempt.batch_id, step=step)
        return Apply() if isinstance(decision, Skip) else decision

"""One batch into an Iceberg table: staged on a branch, published with its ledger row (S2 to S6).

Spark writes the batch to a branch that one driver has for itself: whatever becomes of that commit,
`main` is untouched. Publishing is one compare-and-swap: `main` is brought to what was staged, and
the ledger row is set, if the table is still as it was when the ledger decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.events import emit
from holdfast.events.batches import (
    Committed,
    Decided,
    LedgerAdvanced,
    RowsWritten,
    StepOpened,
    fields_of,
)
from holdfast.ledger.decide import Apply, Decision, Refuse, Skip, decide
from holdfast.ledger.row import advance
from holdfast.proof.settings import with_settings
from holdfast.sinks.iceberg.change import find_change
from holdfast.sinks.iceberg.failures import failure_of, is_conflict
from holdfast.sinks.iceberg.ledger import TRIES, IcebergLedgerStore
from holdfast.sinks.iceberg.notes import branch_of, encode_note
from holdfast.sinks.iceberg.staging import place_branch
from holdfast.sinks.spark_merge import VIEW, merge_source, merge_statement
from holdfast.sinks.table_changed import TableChangedError
from holdfast.spark.errors import spark_errors
from holdfast.spark.exact_parquet import exact_timestamps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import Attempt, LedgerRow
    from holdfast.sinks.iceberg.notes import Written
    from holdfast.sinks.sink import BeforeCommit
    from holdfast.spark.iceberg_step import IcebergStep

_NOTES = "spark.sql.iceberg.snapshot-property."
"""Settings of a session that become notes of its commits: MERGE takes no options. Spark 3.5 has
none, so there an empty snapshot after the one with the rows has the notes."""


class Staged(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch has become on its branch."""

    snapshot: int | None
    """None: Spark found nothing to write."""
    parent: int | None


class BatchWrite:
    """One batch on its way into one table."""

    def __init__(
        self,
        ledger: IcebergLedgerStore,
        attempt: Attempt,
        batch: DataFrame,
        *,
        shown: str,
        before_commit: BeforeCommit,
    ) -> None:
        """Write nothing yet."""
        self._ledger = ledger
        self._attempt = attempt
        self._batch = batch
        self._shown = shown
        self._before_commit = before_commit
        self._at = fields_of(attempt)
        self._has_sent = False
        """Whether a commit with the row of this batch was sent to the catalog."""

    def run(self) -> Decision:
        """Decide, stage and publish; after every error the ledger decides again.

        Raises:
            TableChangedError: The table is not as the stream has left it.
            HoldfastError: Iceberg refused it.
        """
        emit(StepOpened(**self._at))  # S2
        step, written, decision = self._judge()  # S3
        emit(Decided(**self._at, decision=decision.word))
        staged: Staged | None = None
        lost: Exception | None = None
        for _ in range(TRIES):
            if written is None or not isinstance(decision, Apply):
                return self._ended(decision)
            try:
                if staged is None:
                    staged = self._stage(step, written.row)
                else:
                    staged = self._publish(step, written, staged)
            except spark_errors() as error:
                lost = error
                self._check_again(error)
            step, written, decision = self._judge()
        if not isinstance(decision, Apply):
            return self._ended(decision)
        raise failure_of(lost or RuntimeError(_BUSY), self._shown, self._attempt.batch_id) from lost

    def _ended(self, decision: Decision) -> Decision:
        """Return what became of the batch: what is there although it was sent just now, is ours."""
        if isinstance(decision, Skip) and self._has_sent:
            emit(Committed(**self._at))  # S6
            return Apply()
        return decision

    def _judge(self) -> tuple[IcebergStep, Written | None, Decision]:
        found = self._ledger.begin(self._attempt.stream)
        batch = self._attempt.batch_id
        if found is None:
            raise TableChangedError(self._shown, batch, why="it was dropped or renamed")
        step, written = found
        decision = decide(None if written is None else written.row, self._attempt)
        if written is not None and not isinstance(decision, Refuse):
            changed = find_change(step, written)
            if changed is not None:
                raise TableChangedError(self._shown, batch, why=changed)
        return step, written, decision

    def _check_again(self, error: Exception) -> None:
        """Raise an error that counts: the batch is not there, and it would fail again."""
        _, _, decision = self._judge()
        if isinstance(decision, Apply) and not is_conflict(error):
            raise failure_of(error, self._shown, self._attempt.batch_id) from error

    @property
    def _is_merge(self) -> bool:
        return bool(self._ledger.target.keys)

    def _stage(self, step: IcebergStep, row: LedgerRow) -> Staged | None:
        """Have Spark write the batch to the branch; None when something has to be looked at again.

        The branch is this driver's alone: what is on it afterwards, on top of what was there, is
        the batch.
        """
        branch = branch_of(row.stream, row.epoch)
        before, head = step.snapshot_of(branch), step.head
        if before is None or (self._is_merge and before != head):
            assert head is not None  # where its row is
            place_branch(step, row.stream, epoch=row.epoch, at=head)
            step.commit()
            return None
        self._write(f"{self._ledger.target.name}.branch_{branch}", advance(row, self._attempt))
        found = self._ledger.begin(row.stream)
        after = None if found is None else found[0].snapshot_of(branch)
        if found is None or after is None:
            return None  # another driver has taken the branch away
        emit(RowsWritten(**self._at))  # S4
        if after == before:
            return Staged(snapshot=None, parent=before)
        snapshot = found[0].snapshot(after)
        if snapshot is None or snapshot.parent_id != before:
            why = f"another writer has written to the branch {branch}"
            raise TableChangedError(self._shown, self._attempt.batch_id, why=why)
        return Staged(snapshot=after, parent=before)

    def _publish(self, step: IcebergStep, written: Written, staged: Staged) -> Staged | None:
        """Bring `main` to what was staged, with the ledger row; None when it must be staged anew.

        An append is carried over to where other writers have brought `main`. What a MERGE found
        there counts, so it runs again: also when it has only inserted, which Iceberg would carry
        over too.
        """
        if self._is_merge and step.head != staged.parent:
            return None
        row = advance(written.row, self._attempt)
        if staged.snapshot is not None:
            step.cherrypick(staged.snapshot)
        note = encode_note(row)
        is_noted = (
            step.new_head == staged.snapshot
            and staged.snapshot is not None
            and _has(note, step, staged.snapshot)
        )
        if not is_noted:
            data = None if staged.snapshot is None else step.new_head
            step.append_nothing(encode_note(row, data=data))
        self._ledger.put(step, row)  # S5
        emit(LedgerAdvanced(**self._at))
        self._before_commit(0)
        self._has_sent = True
        step.commit()  # S6
        return staged

    def _write(self, branch: str, row: LedgerRow) -> None:
        from pyspark.sql import functions as F

        session, target = self._batch.sparkSession, self._ledger.target
        rows = self._batch.select(
            *self._batch.columns,
            *(F.lit(None).cast(kind).alias(name) for name, kind in target.missing),
        )
        notes = encode_note(row)
        with exact_timestamps(session):
            if not self._is_merge:
                writer = rows.writeTo(branch)
                for name, value in notes.items():
                    writer = writer.option(f"snapshot-property.{name}", value)
                writer.append()
                return
            there = replace(target, name=branch)
            merge_source(rows, there).createOrReplaceTempView(VIEW)
            with with_settings(session, {_NOTES + name: notes[name] for name in notes}):
                session.sql(merge_statement(rows.columns, there))


_BUSY = "other writers of the table were faster every time"


def _has(note: Mapping[str, str], step: IcebergStep, number: int) -> bool:
    """Return whether a snapshot has the notes of a batch."""
    snapshot = step.snapshot(number)
    return snapshot is not None and note.items() <= snapshot.summary.items()

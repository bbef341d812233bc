"""One batch into PostgreSQL from one task, for batches that the driver cannot hold.

The task runs the same transaction as the driver does (S2 to S6). Spark may run it again after an
executor was lost, or beside a slow copy of itself: the ledger row's lock and its content settle
that, as between two drivers. What Spark does not do is tell the task that its input has failed: a
failing source looks like the end of the data there. So one row more comes after all the others,
which says that this was the end: a task that does not see it last commits nothing.

On the executors this needs pyarrow, psycopg and Holdfast itself, and the DSN where it is said to
be; nothing else is imported here.
"""

from __future__ import annotations

import importlib.util
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, missing_extra
from holdfast.ledger.decide import Apply, Decision, Reason, Refuse, Skip, decide
from holdfast.sinks.postgres.failures import is_gone, refusal_of
from holdfast.sinks.postgres.fence import QUEUED, look_at_blockers, terminate_sessions
from holdfast.sinks.postgres.ledger_rows import read_row
from holdfast.sinks.postgres.write import write_batch
from holdfast.sinks.secrets import Secret, reveal

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.postgres.target import Target


RAISED = "raised "
"""Before an error that a task brings back instead of a decision."""
WAITS = "ClientRead"
"""What PostgreSQL says of a session that waits for its client, inside COPY too."""


class PartialBatchError(Exception):
    """The rows that came are not known to be all of the batch; nothing was committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a task needs to write a batch; sent to the executor."""

    dsn: Secret
    target: Target
    attempt: Attempt

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the batch, and give back one row: what became of it.

        Args:
            batches: Its rows with one more column, the last, which is true in a row after all.
        """
        import pyarrow as pa

        rows = RowsToTheEnd(batches)
        said = answer_of(lambda: self._decide(rows))
        rows.run_out()  # also when this one has not written them
        yield pa.RecordBatch.from_pydict({"said": [said]})

    def _decide(self, rows: RowsToTheEnd) -> str:
        decision = self._write(rows)
        return decision.reason.name if isinstance(decision, Refuse) else type(decision).__name__

    def _write(self, rows: RowsToTheEnd) -> Decision:
        from psycopg import Error, errors

        from holdfast.sinks.postgres.connect import connect

        with connect(self.dsn) as session:
            decision: Decision | None = None
            holders: dict[int, tuple[object, ...]] | None = None
            while decision is None:
                try:
                    decision = write_batch(
                        session,
                        self.target,
                        self.attempt,
                        batches=rows.read(),
                        before_commit=rows.check_whole,
                    ).decision
                except errors.LockNotAvailable as error:
                    seen = look_at_blockers(session, self.attempt)
                    before = holders
                    holders = {pid: doing for pid, doing in seen.items() if doing[0] != QUEUED}
                    decision = self._settle(session)
                    is_foreign = not seen or holders == before == {}  # not an attempt of this task
                    if decision is None and is_foreign:
                        shown = self.target.display_name
                        raise refusal_of(error, shown, self.attempt.batch_id) from error
                    waiting = all(doing[0] == WAITS for doing in holders.values())
                    if decision is None and waiting and holders == before:
                        terminate_sessions(session, self.attempt, holders)
                except Error as error:
                    if is_gone(session, error):
                        raise
                    shown = self.target.display_name
                    raise refusal_of(error, shown, self.attempt.batch_id) from error
        return decision

    def _settle(self, session: psycopg.Connection) -> Decision | None:
        """Return what is decided already; None when the batch is still to be written.

        Another attempt of this task has the row: at work, or on an executor that stands still,
        which is ended when it has done nothing between two looks. Not when this attempt is itself
        the one that was replaced.
        """
        row = read_row(session, self.attempt.stream, self.attempt.sink)
        decision = decide(row, self.attempt)
        return None if isinstance(decision, Apply) else decision


class RowsToTheEnd:
    """The rows of a batch, of which the last row of all says that nothing is missing."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Read nothing yet."""
        self._batches = iter(batches)
        self._is_begun = self._has_ended = False

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows without their last column; a second time only if none was taken before.

        Raises:
            PartialBatchError: Some were taken before, or there are rows after the end.
        """
        if self._is_begun:
            raise PartialBatchError("rows of the batch were read before")
        for each in self._batches:
            self._is_begun = True
            if rows := self._take(each):
                yield rows

    def check_whole(self, _: int) -> None:
        """See that the end has come.

        Raises:
            PartialBatchError: It has not.
        """
        if not self._has_ended:
            raise PartialBatchError("the rows ended before the end of the batch")

    def run_out(self) -> None:
        """Take what is left; Spark computes a batch to its end, whoever writes it."""
        for _ in self._batches:
            pass

    def _take(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._has_ended and batch.num_rows:
            raise PartialBatchError("rows came after the end of the batch")
        ends = batch.column(batch.num_columns - 1)
        if pc.any(ends).as_py():
            if pc.sum(ends).as_py() != 1 or not ends[-1].as_py():
                raise PartialBatchError("rows came after the end of the batch")
            self._has_ended = True
            batch = batch.slice(0, batch.num_rows - 1)
        names = batch.schema.names[:-1]
        return pa.RecordBatch.from_arrays(batch.columns[:-1], names=names)


def answer_of(work: Callable[[], str], *, by_driver: bool = False) -> str:
    """Return what a task answers, or the error that it brings back to the driver instead.

    Args:
        work: Returns the answer.
        by_driver: Whether the driver tries again what can be; else Spark does, perhaps elsewhere.
    """
    try:
        return work()
    except HoldfastError as error:
        if error.retryable and not by_driver:
            raise
        # Spark would run a task that fails four times, and lose the error's code on the way.
        return RAISED + pickle.dumps(error).hex()
    except ImportError as error:
        missing = missing_extra(error)  # the executor lacks what the driver has
        if missing is None:
            raise
        return RAISED + pickle.dumps(missing).hex()


def raise_answered(said: str) -> None:
    """Raise what a task has brought back, if it is an error.

    Raises:
        HoldfastError: What the task raised; nothing was committed.
    """
    if said.startswith(RAISED):
        raise pickle.loads(bytes.fromhex(said.removeprefix(RAISED)))  # noqa: S301 - our own task's


def read_answer(said: str) -> Decision:
    """Return what a task has decided.

    Raises:
        HoldfastError: What the task raised; nothing was committed.
    """
    raise_answered(said)
    if said in Reason.__members__:
        return Refuse(Reason[said])
    return Skip() if said == Skip.__name__ else Apply()


def find_missing(dsn: Secret) -> list[str]:
    """Say what an executor lacks to write a batch; run there."""
    missing = [
        f"the Python module {module}"
        for module in ("pyarrow", "psycopg")
        if importlib.util.find_spec(module) is None
    ]
    try:
        reveal(dsn)
    except HoldfastError as error:
        missing.append(f"the DSN ({error.why})")
    return missing

"""One batch into PostgreSQL from one task, for batches that the driver cannot hold.

The task runs the same transaction as the driver does (S2 to S6). Spark may run it again after an
executor was lost, or beside a slow copy of itself: the ledger row's lock and its content settle
that, as between two drivers. What Spark does not do is tell the task that its input has failed: a
failing source looks like the end of the data there. So the driver counts the rows first, and the
task commits exactly that many or nothing.

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
from holdfast.sinks.postgres.fence import look_at_blockers, terminate_blocking_sessions
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
    """The rows that came are not as many as were counted; nothing was committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a task needs to write a batch; sent to the executor."""

    dsn: Secret
    target: Target
    attempt: Attempt
    expected_rows: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the batch, and give back one row: what became of it."""
        import pyarrow as pa

        rows = iter(batches)
        try:
            decision = self._write(rows)
            said = decision.reason.name if isinstance(decision, Refuse) else type(decision).__name__
        except HoldfastError as error:
            if error.retryable:
                raise  # Spark tries again, perhaps elsewhere
            # Spark would run a task that fails four times, and lose the error's code on the way.
            said = RAISED + pickle.dumps(error).hex()
        except ImportError as error:
            missing = missing_extra(error)  # the executor lacks what the driver has
            if missing is None:
                raise
            said = RAISED + pickle.dumps(missing).hex()
        for _ in rows:  # not written by this one: run out all the same
            pass
        yield pa.RecordBatch.from_pydict({"said": [said]})

    def _write(self, batches: Iterator[pa.RecordBatch]) -> Decision:
        from psycopg import Error, errors

        from holdfast.sinks.postgres.connect import connect

        with connect(self.dsn) as session:
            decision: Decision | None = None
            seen: dict[int, tuple[object, ...]] = {}
            while decision is None:
                try:
                    decision = write_batch(
                        session,
                        self.target,
                        self.attempt,
                        batches=batches,
                        before_commit=expecting(self.expected_rows),
                    ).decision
                except errors.LockNotAvailable as error:
                    before, seen = seen, look_at_blockers(session, self.attempt)
                    decision = self._settle(session)
                    if decision is None and not seen:  # not by an attempt of this task
                        shown = self.target.display_name
                        raise refusal_of(error, shown, self.attempt.batch_id) from error
                    waiting = all(doing[0] == WAITS for doing in seen.values())
                    if decision is None and waiting and seen == before:
                        terminate_blocking_sessions(session, self.attempt)
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


def expecting(rows: int) -> Callable[[int], None]:
    """Return what refuses any other number of rows.

    Raises:
        PartialBatchError: By what is returned.
    """

    def check(came: int) -> None:
        if came != rows:
            raise PartialBatchError(f"{came:,} rows came, {rows:,} were expected")

    return check


def read_answer(said: str) -> Decision:
    """Return what a task has decided.

    Raises:
        HoldfastError: What the task raised; nothing was committed.
    """
    if said.startswith(RAISED):
        raise pickle.loads(bytes.fromhex(said.removeprefix(RAISED)))  # noqa: S301 - our own task's
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

"""The query that `start` returns: Spark's own, which also says when its lease was lost."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.streaming.query import StreamingQuery

from holdfast.errors import ConfigError, HoldfastError
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import query_class
from holdfast.streams.heartbeat import SECONDS_TO_END

if TYPE_CHECKING:
    from types import FrameType

    from holdfast.streams.heartbeat import LeaseRenewer

    _Methods = StreamingQuery
else:  # each kind of session has a class of its own
    _Methods = object


class LeaseLostError(HoldfastError):
    """The query was stopped because it lost its lease; there may be work left."""

    code = "LEASE_LOST"

    def __init__(self, stream: str, *, is_unconfirmed: bool = False) -> None:
        what = f"{stream} was stopped before its end."
        if is_unconfirmed:
            super().__init__(
                what=what,
                why="Its lease was not renewed within its term, and its sink has no fence. "
                "Whether another driver has taken over is not known.",
                how="If no other driver runs the stream, start it again.",
            )
            return
        super().__init__(
            what=what,
            why="Another driver has taken it over.",
            how="Leave that driver running; nothing is lost. This program can end.",
        )


class GuardedCalls(_Methods):
    """What a guarded query does beyond Spark's, whatever kind of session it is of."""

    def __init__(
        self, query: StreamingQuery, *, stream: str, renewer: LeaseRenewer, advice: str = ""
    ) -> None:
        """Stand for a query that was started.

        Args:
            query: Spark's own.
            stream: Its name.
            renewer: Keeps its lease.
            advice: What repairs the checkpoint, if the start saw that Spark will refuse it.
        """
        self.__dict__.update(vars(query))
        self._advice = advice
        self._stream = stream
        self._renewer = renewer

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802
        """Wait as Spark's does; a batch that a stop has interrupted is no error.

        Raises:
            LeaseLostError: It was stopped because it lost its lease.
            StreamingQueryException: It failed; what that means is added as a note.
        """
        try:
            ended = self._await(timeout)
        except spark_errors() as error:
            if not self._renewer.is_lost and not self._renewer.was_stopped():
                error.add_note(describe_failure(self._stream, self._renewer, self._advice))
                raise
            ended = True
        if self._renewer.is_lost and not self.isActive:
            raise LeaseLostError(self._stream, is_unconfirmed=self._renewer.is_unconfirmed)
        return ended

    def _await(self, timeout: Any) -> bool | None:
        """Wait in Python, and ask the JVM once the query has ended.

        Ctrl-C can strike between a call into the JVM and its answer. PySpark's own handler then
        makes another call on the same connection, and both wait for ever.
        """
        is_to_wait = timeout is None or (isinstance(timeout, int | float) and timeout > 0)
        if is_to_wait and not self._renewer.wait_for_end(timeout):
            return False
        if is_to_wait:
            # Until its sinks are closed: a task that still runs for one of them would fail loudly
            # when the program stops the session.
            self._renewer.wait(SECONDS_TO_END if timeout is None else min(timeout, SECONDS_TO_END))
        return super().awaitTermination(timeout)

    def stop(self) -> None:
        """Stop as Spark's does, and release the lease: the next start need not wait."""
        if self.isActive:
            self._renewer.is_stopping = True
        super().stop()
        self._renewer.wait()

    @property
    def is_kept(self) -> bool:
        """Whether its lease is not released yet."""
        return not self._renewer.wait(0)

    def ask_to_stop(self) -> None:
        """Have another thread stop it, and return at once."""
        self._renewer.ask_to_stop()


class GuardedQuery(GuardedCalls, StreamingQuery):
    """Spark's query, which also releases its lease, and says what a failure means."""


def guarded(
    query: StreamingQuery, *, stream: str, renewer: LeaseRenewer, advice: str = ""
) -> GuardedQuery:
    """Return a query with what a guarded one does; see `GuardedCalls`."""
    kind = GuardedQuery
    if (of_spark := query_class(query)) is not None:
        kind = cast("type[GuardedQuery]", type(kind.__name__, (GuardedCalls, of_spark), {}))
    return kind(query, stream=stream, renewer=renewer, advice=advice)


def describe_failure(stream: str, renewer: LeaseRenewer, advice: str = "") -> str:
    """Say what became of the batch that failed: the last lines of a long traceback."""
    batch, error = renewer.failed or (None, None)
    if renewer.is_handed_over:
        return f"holdfast: {stream} failed on the server. The next start runs its batch again."
    if batch is None:
        said = f"holdfast: {stream} failed, and not while a batch was written to its sinks."
        return f"{said}\n  The start foresaw it. {advice}" if advice else said
    lines = [f"holdfast: batch {batch} of {stream} failed. The next start runs it again."]
    if isinstance(error, HoldfastError):
        lines += [f"  {error.code}: {error.what}", f"  {error.why}", f"  {error.how}"]
    else:
        lines.append(f"  {type(error).__name__}: see above.")
    done = renewer.last_batch
    lines.append(
        f"  The last batch that reached every sink in this run: {'none' if done is None else done}."
    )
    return "\n".join(lines)


def stop_on_sigterm(*queries: StreamingQuery) -> None:
    """Stop queries and release their leases when the process gets SIGTERM, as a pod does.

    `awaitTermination` then returns, and the program goes on to its end. A handler that was there
    before is called after it.

    Args:
        queries: What `start` returned, or the values of what `Pipeline.start` returned.

    Raises:
        ConfigError: This is not the main thread, or something else is given.
    """
    guarded = [query for query in queries if isinstance(query, GuardedCalls)]
    if len(guarded) < len(queries) or not queries:
        raise ConfigError("stop_on_sigterm takes queries that hf.start has returned.")
    before, process = signal.getsignal(signal.SIGTERM), os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() != process or not any(query.is_kept for query in guarded):
            # A forked child, or nothing is left to stop: as if it had not been called.
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        for query in guarded:
            query.ask_to_stop()
        if callable(before):
            before(number, frame)

    try:
        signal.signal(signal.SIGTERM, stop)
    except ValueError:
        raise ConfigError("stop_on_sigterm must be called in the main thread.") from None

"""The leases of the streams that a plan changes, held and renewed while it is applied.

A stream that is moved has two records for a while; a driver can be started from either.

A process that was paused for longer than a term may have lost its leases, and its heartbeat resumes
no earlier than its next step. So the age of the last heartbeat is looked at before every change;
once it is too old, the record is asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType

from holdfast import clock
from holdfast.apply.errors import StreamRunsError
from holdfast.errors import HoldfastError
from holdfast.record.leases import (
    TERM_S,
    Lease,
    LeaseHeldError,
    Waiting,
    release,
    renew,
    take_lease,
)
from holdfast.record.owner import this_process
from holdfast.storage.write import Writer


class Leases:
    """Takes the lease of every record, in the order of their locations, and renews them."""

    def __init__(
        self,
        records: Sequence[tuple[str, Writer]],
        epochs: Mapping[str, int | None],
        *,
        tell: Callable[[Waiting], None],
    ) -> None:
        """Take nothing yet.

        Args:
            records: Each with the name of its stream; the first of a stream counts for its sinks.
            epochs: The highest epoch that the sinks of each stream hold; None without a ledger.
            tell: Called while a lease is waited for that is not released.
        """
        self._tell = tell
        self._records = records
        self._epochs = epochs
        self._held: dict[int, Lease] = {}
        """By the place of its record among all."""
        self._beats: dict[int, float] = {}
        """When each was renewed last, by the clock of this process."""
        self._lost: list[str] = []
        self._renewing = threading.Lock()
        self._is_over = threading.Event()
        self._renewer = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Leases:
        with ExitStack() as undone:
            undone.callback(self._release)
            at = [str(record.location) for _, record in self._records]
            for number in sorted(range(len(at)), key=lambda each: at[each]):
                self._held[number] = self._take(number)
                self._beats[number] = clock.monotonic()
            undone.pop_all()
        self._renewer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._renewer.join()
        self._release()

    def of(self, stream: str) -> Lease:
        """Return the lease of a stream.

        Raises:
            StreamRunsError: Another driver has taken it meanwhile.
        """
        self.check()
        return self._held[[name for name, _ in self._records].index(stream)]

    def check(self) -> None:
        """Refuse to go on once a lease was lost; ask the record for one that is not renewed.

        Raises:
            StreamRunsError: Another driver has taken one.
            ReadError, WriteError: A lease may have expired, and the store did not answer.
        """
        self._confirm(older_than=TERM_S / 2)

    def confirm(self) -> None:
        """Ask the record whether every lease is still held.

        Raises:
            StreamRunsError: Another driver has taken one.
            ReadError, WriteError: The store did not answer.
        """
        self._confirm(older_than=0)

    def _confirm(self, *, older_than: float) -> None:
        for number in self._held:
            if clock.monotonic() - self._beats[number] >= older_than:
                self._renew(number)
        if self._lost:
            raise StreamRunsError(self._lost[0], "Another driver has taken its lease meanwhile.")

    def _take(self, number: int) -> Lease:
        stream, record = self._records[number]
        try:
            after = self._epochs.get(stream)
            return take_lease(record, this_process(), after=after, tell=self._tell)
        except LeaseHeldError as error:
            raise StreamRunsError(stream, error.why) from error

    def _keep(self) -> None:
        while not self._is_over.wait(TERM_S / 3):
            for number in list(self._held):
                with suppress(HoldfastError):  # the store does not answer: the term runs on
                    self._renew(number)

    def _renew(self, number: int) -> None:
        """Show that this process lives, unless another one has taken over."""
        stream, record = self._records[number]
        with self._renewing:
            if stream in self._lost:
                return
            began = clock.monotonic()
            fresh = renew(record, self._held[number])
            if fresh is None:
                self._lost.append(stream)
            else:
                self._held[number], self._beats[number] = fresh, began

    def _release(self) -> None:
        for number, lease in self._held.items():
            stream, record = self._records[number]
            if stream not in self._lost:
                with suppress(HoldfastError):  # it expires; what the plan did is done
                    release(record, lease)

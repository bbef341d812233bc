"""Where the batches are written that another process has started: the lease, the sinks, the batch.

Spark unpickles the function of a query in a process of its own, before the query begins. There the
lease gets its new owner; what the server lacks ends the start, by name.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import msgspec

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.events.starts import LeaseLost
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import Unreadable
from holdfast.record.leases import read_lease
from holdfast.record.owner import is_ending, this_process
from holdfast.sinks.kinds import sink_of
from holdfast.sinks.session import writer_of
from holdfast.spark.errors import spark_errors
from holdfast.spark.plans import Untold
from holdfast.spark.port import port_of
from holdfast.storage.location import parse_location
from holdfast.streams.batches import BatchWriter
from holdfast.streams.fan_out import BatchSpool
from holdfast.streams.heartbeat import THREAD, LeaseRenewer
from holdfast.streams.replaced_range import Comparison, Looks
from holdfast.streams.sent import Sent
from holdfast.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.record.contracts import SinkContract
    from holdfast.sinks.sink import SinkSpec
    from holdfast.storage.write import Writer

_LOOK_SECONDS = 0.5
"""How often it is looked whether the parent lives: after its death nothing may be committed."""
_SECONDS_TO_STOP = 10.0


class FarEndError(HoldfastError):
    """The process of the batches lacks something, or sees another place than the start."""

    code = "FAR_END"

    def __init__(self, what: str, why: str, how: str) -> None:
        super().__init__(what=what, why=why, how=how)

    def __str__(self) -> str:
        """Return it on one line between two marks: the client finds it in a traceback."""
        return f"holdfast-far-end: {self.what} | {self.why} | {self.how} :far-end"


class _Version(msgspec.Struct):
    """What every version of Holdfast sends first."""

    version: str


def receive(content: bytes) -> FarWriter:
    """Become the owner of a started stream: called where the function is unpickled.

    Raises:
        FarEndError: This process cannot write its batches.
        HoldfastError: A store or a database cannot be used from here.
    """
    from pyspark.sql import SparkSession

    told = msgspec.json.decode(content, type=_Version)
    if told.version != __version__:
        raise FarEndError(
            "The server has another version of Holdfast.",
            f"It is {__version__} there, and {told.version} here.",
            "Install the same version on both sides.",
        )
    sent = msgspec.json.decode(content, type=Sent)
    spark = SparkSession.getActiveSession()
    assert spark is not None
    try:
        record = writer_of(spark, parse_location(sent.record))
        _check_record(record, sent)
        sinks = tuple(_check_sink(contract, sent, spark) for contract in sent.sinks)
        renewer = FarRenewer(record, sent, spark)
        renewer.begin()
    except FarEndError:
        raise
    except HoldfastError as error:
        raise FarEndError(f"On the server: {error.what}", error.why, error.how) from None
    return FarWriter(sent, sinks=sinks, renewer=renewer, record=record, spark=spark)


def _check_record(record: Writer, sent: Sent) -> None:
    """Refuse a record that is not the one of the start: a disk of another machine, for example."""
    found = read_lease(record, sent.lease.epoch)
    if found is None or found.token != sent.lease.token:
        raise FarEndError(
            f"The server does not see the record {sent.record}.",
            "The lease that the start has taken is not there.",
            "Use a root that both sides reach under one name: a bucket, or a shared disk.",
        )


def _check_sink(contract: SinkContract, sent: Sent, spark: SparkSession) -> SinkSpec:
    """Return a sink, once its ledger is reached from here and has the epoch of the start."""
    sink = sink_of(contract)
    ledger = None if sink is None else sink.open_ledger(spark)
    if sink is None or ledger is None:
        raise FarEndError(
            f"The server cannot open the sink {contract.label}.",
            f"Its kind is {contract.kind}.",
            "Install the same extras of Holdfast on both sides.",
        )
    with closing(ledger):
        row = ledger.read(sent.stream)
    if isinstance(row, Unreadable) and row.error is not None:
        raise row.error
    if not isinstance(row, LedgerRow) or (row.epoch, row.nonce) != (
        sent.lease.epoch,
        sent.lease.token,
    ):
        raise FarEndError(
            f"From the server, {contract.place} is another table.",
            "Its ledger does not have the epoch that the start has just written.",
            f"Give {contract.secret or contract.place} the same meaning on both sides.",
        )
    return sink


class FarRenewer(LeaseRenewer):
    """Renews the lease as its new owner, for as long as the server lives that started this process.

    When the server is gone nothing more is committed, and this process ends. When another driver
    has taken over, the query is stopped.
    """

    def __init__(self, record: Writer, sent: Sent, spark: SparkSession) -> None:
        """Take the lease over from the process of the start."""
        mine = msgspec.structs.replace(sent.lease, owner=this_process())
        super().__init__(record, mine, ())
        self._parent = os.getppid()
        self._spark = spark
        self._query_id = str(sent.binding.query_id)
        self.look: Callable[[int], bool] | None = None
        """Compares a batch with what Spark has read; False: it could not yet, ask again."""
        self._looks = Looks()

    def begin(self) -> None:
        """Be the owner from now on.

        Raises:
            FarEndError: Another driver has taken over already.
        """
        self._renew()
        if self.is_lost:
            raise FarEndError(
                "Another driver has taken the stream over.",
                "It has taken a later lease while this query was started.",
                "Leave that driver running; nothing is lost.",
            )
        threading.Thread(target=self._keep, name=THREAD, daemon=True).start()
        # Of its own: a call to a server that is gone takes minutes.
        threading.Thread(target=self._keep_looking, daemon=True).start()

    def holds(self) -> bool:
        """Return whether the lease is held, and the server lives: asked before every commit."""
        return self._is_child() and super().holds()

    def _keep(self) -> None:
        due = clock.monotonic() + self._pause_s
        never = threading.Event()
        while self._is_child() and not self.is_lost:
            never.wait(_LOOK_SECONDS)
            if clock.monotonic() >= due:
                self._renew()
                due = clock.monotonic() + self._pause_s
        if self.is_lost:
            emit(LeaseLost(self._stream, epoch=self._lease.epoch))
            threading.Thread(target=self._stop_query, daemon=True).start()
            never.wait(_SECONDS_TO_STOP)
        self.is_over = True
        os._exit(1)  # an orphan, or a query that did not stop: a batch in hand is not committed

    def _keep_looking(self) -> None:
        never = threading.Event()
        while not self.is_over:
            never.wait(_LOOK_SECONDS)
            self._look_between()

    def _look_between(self) -> None:
        """Compare the last batch with what Spark has read, while no other one is written."""
        batch = self.last_batch
        if self.look is None or batch is None or not self._looks.is_due(batch):
            return
        if not self.writing().acquire(blocking=False):
            return  # that batch is compared with the one before
        fails: tuple[type[Exception], ...] = (HoldfastError, ValueError, KeyError, TypeError)
        try:
            self._looks.note(batch, is_done=self.look(batch))
        except (*fails, *spark_errors()) as error:
            self._looks.note(batch, is_done=False)
            if self._looks.tries == 1:
                why = f"batch {batch} could not be compared yet: {type(error).__name__}"
                emit(Warned(why))
        finally:
            self.writing().release()

    def _is_child(self) -> bool:
        return os.getppid() == self._parent and not is_ending(self._parent)

    def _stop_query(self) -> None:
        with suppress(Exception):
            query = self._spark.streams.get(self._query_id)
            if query is not None:
                query.stop()


class FarWriter:
    """Writes the batches of a stream that another process has started: what Spark calls."""

    def __init__(
        self,
        sent: Sent,
        *,
        sinks: tuple[SinkSpec, ...],
        renewer: FarRenewer,
        record: Writer,
        spark: SparkSession,
    ) -> None:
        """Open nothing yet: the columns are known with the first batch.

        Args:
            sent: What the start has sent.
            sinks: Each can be written from here.
            renewer: Keeps the lease.
            record: Of the stream.
            spark: The session that knows the query. Since Spark 4.3 that of a batch is a copy of
                it, which knows none.
        """
        self._spark = spark
        self._sent = sent
        self._sinks = sinks
        self._renewer = renewer
        self._record = record
        self._writer: BatchWriter | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write one batch."""
        if self._writer is None:
            self._writer = self._open(batch)
            self._renewer.look = self._look
        self._writer(batch, number)

    def _look(self, batch_id: int) -> bool:
        assert self._writer is not None
        told = self._writer.query.end_offsets()
        if not isinstance(told, Untold) or told.last_batch != batch_id:
            return False
        return self._writer.correct(told) is not Comparison.FAILED

    def _open(self, batch: DataFrame) -> BatchWriter:
        sent, spark = self._sent, batch.sparkSession
        named = {"stream": sent.stream, "output_mode": sent.output_mode}
        return BatchWriter(
            query=port_of(spark).running_query(self._spark, str(sent.binding.query_id)),
            stream=sent.stream,
            generation=sent.generation,
            binding=sent.binding,
            checkpoint=writer_of(spark, parse_location(sent.checkpoint)),
            sinks=tuple(sink.writer_for(batch, **named) for sink in self._sinks),
            spool=BatchSpool(record=self._record, is_needed=False, first_batch=sent.first_batch),
            renewer=self._renewer,
        )

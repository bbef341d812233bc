"""One batch into Kafka: records and the ledger record in one transaction (S2 to S6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import msgspec

from holdfast.events import emit
from holdfast.events.batches import (
    BatchFields,
    Committed,
    Decided,
    LedgerAdvanced,
    RowsSent,
    RowsWritten,
    StepOpened,
    fields_of,
)
from holdfast.ledger.decide import Apply, Decision, Refuse, decide
from holdfast.ledger.row import advance
from holdfast.sinks.failures import ValueRefusedError
from holdfast.sinks.kafka.columns import find_bad_header, partitions_of
from holdfast.sinks.kafka.failures import KafkaRefusedError
from holdfast.sinks.kafka.sender import Sender
from holdfast.sinks.table_changed import TableChangedError

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.kafka.record import LedgerRecord
    from holdfast.sinks.kafka.sink import Kafka
    from holdfast.sinks.kafka.stream_ledger import StreamLedger
    from holdfast.sinks.sink import BeforeCommit
    from holdfast.spark.arrow import RecordBatch


def write_batch(
    ledger: StreamLedger,
    sink: Kafka,
    attempt: Attempt,
    *,
    batches: Iterable[RecordBatch],
    before_commit: BeforeCommit,
) -> Decision:
    """Decide about a batch and, when it is to be applied, write it; in one transaction.

    Args:
        ledger: Of its stream.
        sink: Where it goes.
        attempt: The batch.
        batches: Its record batches; not touched unless it is applied.
        before_commit: Called last, with the number of rows; what it raises aborts everything.

    Raises:
        TableChangedError: A topic is not the one that the stream has written into so far.
        KafkaException: The broker refused it, or did not answer. When that happens in the commit
            the batch may be there.
    """
    step = _Step(ledger=ledger, sink=sink, attempt=attempt)
    with ledger.transactions.transaction() as producer:  # S2
        emit(StepOpened(**step.at))
        found = ledger.read()
        decision = decide(None if found is None else found.row, attempt)  # S3
        if found is not None and not isinstance(decision, Refuse | Apply):
            step.check_topics(found)
        emit(Decided(**step.at, decision=decision.word))
        if found is None or not isinstance(decision, Apply):
            return decision  # nothing is sent: there is nothing to commit
        step.apply(producer, batches, found, before_commit=before_commit)
    emit(Committed(**step.at))  # S6
    return decision


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    """What is done inside the transaction of one batch."""

    ledger: StreamLedger
    sink: Kafka
    attempt: Attempt

    @property
    def at(self) -> BatchFields:
        """What its events say of the batch."""
        return fields_of(self.attempt)

    def apply(
        self,
        producer: Producer,
        batches: Iterable[RecordBatch],
        found: LedgerRecord,
        *,
        before_commit: BeforeCommit,
    ) -> None:
        """Send the rows and the ledger record, and wait until the broker has them."""
        rows = self.send(producer, batches, self.check_topics(found))  # S4
        emit(RowsWritten(**self.at))
        self.check_topics(found)
        row = advance(found.row, self.attempt)
        self.ledger.put(self.ledger.advanced(found, row))  # S5
        emit(LedgerAdvanced(**self.at))
        before_commit(rows)

    def check_topics(self, found: LedgerRecord) -> Collection[int]:
        """See that both topics are those of the row; return the partitions of the first."""
        data, ledger = self.ledger.topics()
        changed = self.ledger.find_change(found.pins, data, ledger)
        if changed is not None:
            raise TableChangedError(self.sink.display_name, self.attempt.batch_id, why=changed)
        return data.partitions

    def send(
        self, producer: Producer, batches: Iterable[RecordBatch], partitions: Collection[int]
    ) -> int:
        """Send all rows and wait until the broker has them; return how many."""
        rows, sender = 0, Sender(producer, self.sink.topic)
        for batch in batches:
            if partitions_of(batch) - set(partitions):
                raise KafkaRefusedError(
                    self.sink.display_name, self.attempt.batch_id, name="_UNKNOWN_PARTITION"
                )
            if (why := find_bad_header(batch)) is not None:
                shown, number = self.sink.display_name, self.attempt.batch_id
                raise ValueRefusedError(shown, number, column="headers", why=why)
            sender.send(batch)
            rows += batch.num_rows
            emit(RowsSent(**self.at, rows=rows))
        self.ledger.transactions.flush()
        return rows

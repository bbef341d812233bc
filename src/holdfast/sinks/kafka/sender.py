"""Hands the rows of record batches to a producer, in their order.

Many records go in one call: one by one, Python takes longer than the broker. What may wait in the
producer is bounded here, below the bounds of librdkafka: a queue that is full in the middle of a
call takes only the first of its records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from holdfast.sinks.kafka.columns import messages_of

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from holdfast.sinks.kafka.columns import Message
    from holdfast.spark.arrow import RecordBatch

_ROWS, _BYTES = 5_000, 4 << 20
"""Of one call."""
_WAITING_ROWS, _WAITING_BYTES = 400_000, 96 << 20
"""What may wait in the producer."""
_WAIT_S = 0.05
_ALONE = {"headers", "partition"}
"""What makes a record go alone: `produce_batch` takes no headers, and ignores partitions."""
_ERROR = "_error"
"""Where confluent-kafka puts why it did not take a message."""


class Sender:
    """Sends to one topic within one transaction."""

    def __init__(self, producer: Producer, topic: str) -> None:
        """Send nothing yet."""
        self._producer = producer
        self._topic = topic
        self._row_bytes = 1.0
        """Of the largest mean so far."""

    def send(self, batch: RecordBatch) -> None:
        """Hand all rows over; the broker need not have them yet.

        Raises:
            KafkaException: librdkafka does not take a record: it is too large, for example.
        """
        if not batch.num_rows:
            return
        row_bytes = batch.nbytes / batch.num_rows
        self._row_bytes = max(self._row_bytes, row_bytes)
        step = max(1, min(_ROWS, int(_BYTES / max(row_bytes, 1))))
        goes_alone = _ALONE & set(batch.schema.names) or not hasattr(
            self._producer, "produce_batch"
        )
        for begin in range(0, batch.num_rows, step):
            messages = messages_of(batch.slice(begin, step))
            self._wait_for_room(len(messages))
            if goes_alone:
                for message in messages:
                    self._produce_one(message)
            else:
                self._produce(messages)

    def _wait_for_room(self, rows: int) -> None:
        """Wait until so many more records may wait."""
        most = min(_WAITING_ROWS, int(_WAITING_BYTES / self._row_bytes))
        self._producer.poll(0)
        while (waiting := len(self._producer)) and waiting + rows > most:
            self._producer.poll(_WAIT_S)

    def _produce(self, messages: list[Message]) -> None:
        left = cast("list[dict[str, object]]", messages)
        while (taken := self._producer.produce_batch(self._topic, left)) < len(left):
            left = left[_first_to_send_again(left, taken) :]
            for each in left:
                del each[_ERROR]
            self._producer.poll(_WAIT_S)

    def _produce_one(self, message: Message) -> None:
        while True:
            try:
                self._producer.produce(self._topic, **message)
            except BufferError:
                self._producer.poll(_WAIT_S)
            else:
                return


def _first_to_send_again(messages: list[dict[str, object]], taken: int) -> int:
    """Return from where on a full queue has taken nothing.

    Raises:
        KafkaException: A message is refused, or one in the middle is left out: to send it now
            would change the order of its key.
    """
    from confluent_kafka import KafkaError, KafkaException

    full = KafkaError._QUEUE_FULL  # noqa: SLF001 - its own name
    errors = [cast("KafkaError | None", each.get(_ERROR)) for each in messages]
    refused = [error for error in errors if error is not None]
    for error in refused:
        if error.code() != full:
            raise KafkaException(error)
    # A `KafkaError` cannot be compared with None: what it raises comes up somewhere later.
    if len(refused) != len(messages) - taken or any(each is None for each in errors[taken:]):
        raise KafkaException(*refused[:1])
    return taken

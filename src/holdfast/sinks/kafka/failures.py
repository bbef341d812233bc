"""What can go wrong while Kafka takes a batch: by code, with the name of Kafka's own error.

The text of an error of librdkafka is not shown: it can hold addresses and settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, MissingExtraError

if TYPE_CHECKING:
    from confluent_kafka import KafkaException

_REFUSED = {
    "MSG_SIZE_TOO_LARGE": "Raise max.message.bytes of the topic, or make the records smaller.",
    "_UNKNOWN_PARTITION": "Correct the column partition: the topic has no such partition.",
    "INVALID_TRANSACTION_TIMEOUT": "Lower timeout_s=, or raise the broker's "
    "transaction.max.timeout.ms.",
    "TOPIC_AUTHORIZATION_FAILED": "Grant Describe, Read and Write on the topic and on the ledger "
    "topic, then start the stream again.",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "Grant Describe and Write on transactional ids that "
    "begin with holdfast., then start the stream again.",
    "CLUSTER_AUTHORIZATION_FAILED": "Grant IdempotentWrite on the cluster, then start again.",
    "SASL_AUTHENTICATION_FAILED": "Correct the credentials of the client.",
    "_AUTHENTICATION": "Correct the credentials of the client.",
    "_INVALID_ARG": "Correct the properties: they must be librdkafka's, which are not Java's.",
    "INVALID_RECORD": "A compacted topic takes no record without a key: give every row a key.",
    "POLICY_VIOLATION": "Ask the owner of the cluster to create the topic by its policy.",
}
"""What no repetition changes, and what to do about it."""
NO_TOPIC = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "UNKNOWN_TOPIC_ID"})


class KafkaRefusedError(HoldfastError):
    """Kafka refused something, and said why; nothing was committed."""

    code = "KAFKA_REFUSED"

    def __init__(self, shown: str, batch_id: int | None, *, name: str) -> None:
        self.name = name
        super().__init__(
            what=f"The stream was not started on {shown}."
            if batch_id is None
            else f"Batch {batch_id} was not written to {shown}.",
            why=f"Kafka answered {name}.",
            how=_REFUSED.get(name, "Remove the cause, then start the stream again."),
        )


class KafkaAwayError(HoldfastError):
    """Kafka did not answer, or not in time."""

    code = "KAFKA_AWAY"
    retryable = True

    def __init__(self, shown: str, *, name: str) -> None:
        self.name = name
        super().__init__(
            what=f"{shown[:1].upper()}{shown[1:]} cannot be reached.",
            why=f"The cluster did not answer as it should ({name}).",
            how="Check the address, the network and the brokers. If only transactions fail: "
            "transaction.state.log.replication.factor must not exceed the number of brokers.",
        )


class BatchUnknownError(HoldfastError):
    """A batch was not committed, or the answer was lost; the ledger is asked before it is sent."""

    code = "BATCH_UNKNOWN"
    retryable = True

    def __init__(self, shown: str, batch_id: int, *, name: str) -> None:
        self.name = name
        super().__init__(
            what=f"It is not known whether batch {batch_id} is in {shown}.",
            why=f"Kafka answered {name}. The ledger is asked before the batch is sent again.",
            how="Start the stream again: Spark runs the batch again, and the ledger decides.",
        )


class TransactionTooLongError(HoldfastError):
    """A batch took longer than its transaction may; nothing of it was committed."""

    code = "TRANSACTION_TOO_LONG"

    def __init__(self, shown: str, batch_id: int, *, timeout_s: int) -> None:
        super().__init__(
            what=f"Batch {batch_id} was not written to {shown}.",
            why=f"Its transaction was open for longer than {timeout_s} s, and the broker ended it.",
            how="Make batches smaller (maxOffsetsPerTrigger, maxFilesPerTrigger), or raise "
            "timeout_s=, up to the broker's transaction.max.timeout.ms.",
        )


class LedgerTopicError(HoldfastError):
    """The ledger topic is not there, or is not one that keeps the ledger row."""

    code = "LEDGER_TOPIC"

    def __init__(self, topic: str, *, why: str, how: str) -> None:
        self.topic = topic
        super().__init__(what=f"The ledger topic {topic} cannot be used.", why=why, how=how)


def name_of(error: KafkaException) -> str:
    """Return the name of an error of librdkafka, without its text."""
    inner = error.args[0] if error.args else None
    name = getattr(inner, "name", None)
    return str(name()) if callable(name) else type(error).__name__


def timed_out() -> KafkaException:
    """Return the error of librdkafka for what was waited for in vain."""
    from confluent_kafka import KafkaError, KafkaException

    return KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - its own name


def is_refusal(name: str) -> bool:
    """Return whether no repetition changes an answer of Kafka."""
    return name in _REFUSED


@contextmanager
def naming_failures(shown: str) -> Iterator[None]:
    """Turn what librdkafka raises at a start, or while a ledger is read, into an error."""
    try:
        from confluent_kafka import KafkaException
    except ImportError as error:
        raise MissingExtraError("Using Kafka", module="confluent_kafka", extra="kafka") from error
    try:
        yield
    except KafkaException as error:
        name = name_of(error)
        if is_refusal(name):
            raise KafkaRefusedError(shown, None, name=name) from None
        raise KafkaAwayError(shown, name=name) from None

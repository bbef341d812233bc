"""`hf.Kafka` on a real broker: lost answers, fences, and producers that come in between."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException

from holdfast.ids import BatchId
from holdfast.ledger import NO_BATCH, Apply, LedgerRow, Reason, Refuse, Skip
from holdfast.ledger.output import CannotSettleError, EmptyOutput, KeepOutput
from holdfast.sinks.collect import BatchTooLargeError, TooLargeError
from holdfast.sinks.failures import ValueRefusedError
from holdfast.sinks.kafka.failures import KafkaRefusedError
from holdfast.sinks.kafka.record import transactional_id
from holdfast.sinks.kafka.writer import KafkaWriter
from lab import Kafka
from lab.topics import read_messages, read_topic
from tests.spark.kafka_writers import STREAM, Into, batch_of, batches, numbered, without_spark


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    without_spark(monkeypatch)


@pytest.fixture
def into(kafka: Kafka) -> Into:
    topic = f"protocol_{uuid.uuid4().hex[:12]}"
    kafka.create_topic(topic, partitions=2)
    return Into(kafka, topic)


@pytest.fixture
def writer(into: Into) -> Iterator[KafkaWriter]:
    found = into.first()
    yield found
    found.close()


class LosingProducer(confluent_kafka.Producer):
    """Loses commits on their way there, or the answers to them."""

    lose: list[str] = []  # noqa: RUF012 - of the test that runs

    def commit_transaction(self, *timeout: Any) -> None:
        how = self.lose.pop(0) if self.lose else ""
        if how != "before":
            super().commit_transaction(*timeout)
        if how:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


def test_a_commit_that_landed_is_recognised_and_nothing_is_duplicated(
    into: Into, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confluent_kafka, "Producer", LosingProducer)
    writer = into.first()
    for number in range(4):
        LosingProducer.lose[:] = ["after"]
        assert writer.write(into.attempt(number), numbered(number)) == Skip()
    assert into.ids() == batches(4)
    writer.close()


def test_a_commit_that_never_arrived_is_sent_again(
    into: Into, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confluent_kafka, "Producer", LosingProducer)
    writer = into.first()
    LosingProducer.lose[:] = ["before", "before"]
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    assert into.ids() == batches(1)
    writer.close()


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_fence_whose_answer_was_lost_is_known_to_be_there(
    into: Into, writer: KafkaWriter, *, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    monkeypatch.setattr(confluent_kafka, "Producer", LosingProducer)
    LosingProducer.lose[:] = [how]
    second = into.fence()
    later = into.attempt(1, epoch=2, nonce="n2")
    assert second.write(later, numbered(1)) == Apply()
    assert into.ids() == batches(2)
    second.close()


def once(act: Callable[[], object]) -> Callable[[int], None]:
    """Return what acts when a batch is about to be committed, the first time."""
    left = [act]

    def before_commit(_: int) -> None:
        if left:
            left.pop()()

    return before_commit


def test_a_driver_that_is_replaced_before_its_commit_writes_nothing(
    into: Into, writer: KafkaWriter
) -> None:
    """Its records and its ledger record are at the broker already, and are aborted there."""
    later: list[KafkaWriter] = []
    hook = once(lambda: later.append(into.fence()))
    refused = writer.write(into.attempt(0), numbered(0), before_commit=hook)
    assert refused == Refuse(Reason.EPOCH_FENCED)
    assert into.ids() == batches(0)
    mine = into.attempt(0, epoch=2, nonce="n2")
    assert later[0].write(mine, numbered(0)) == Apply()
    # What was replaced asks the ledger without a producer, and so does not fence its successor.
    assert writer.write(into.attempt(1), numbered(1)) == Refuse(Reason.EPOCH_FENCED)
    mine = into.attempt(1, epoch=2, nonce="n2")
    assert later[0].write(mine, numbered(1)) == Apply()
    assert into.ids() == batches(2)
    later[0].close()


def test_a_fence_finds_the_batch_that_was_committed_before_it(
    into: Into, writer: KafkaWriter
) -> None:
    row = writer.ledger.read(STREAM)
    assert isinstance(row, LedgerRow)
    other = into.start()
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    fenced = other.ledger.fence(row, epoch=2, nonce="n2")
    assert fenced == replace(
        row, epoch=2, nonce="n2", last_batch=BatchId(0), digest="d0", end_offsets="e0"
    )
    mine = into.attempt(0, epoch=2, nonce="n2")
    assert other.write(mine, numbered(0)) == Skip()
    assert into.ids() == batches(1)
    other.close()


def test_a_plan_may_keep_the_records_and_never_take_them_back(
    into: Into, writer: KafkaWriter
) -> None:
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    before = writer.ledger.read(STREAM)
    assert isinstance(before, LedgerRow)
    new = replace(before, generation=2, epoch=2, nonce="n2", last_batch=NO_BATCH, digest=None)
    taken = EmptyOutput(kept="holdfast.kept_1")
    with pytest.raises(CannotSettleError, match="cannot be taken back"):
        writer.ledger.settle(before, new, taken)
    assert writer.ledger.settle(before, new, KeepOutput())
    assert writer.ledger.read(STREAM) == new
    assert into.ids() == batches(1)


def test_another_producer_with_the_same_transactional_id_only_costs_a_repetition(
    into: Into, writer: KafkaWriter
) -> None:
    given = {
        "bootstrap.servers": into.kafka.address,
        "transactional.id": transactional_id(STREAM, into.topic),
    }
    intruder = confluent_kafka.Producer(given)
    hook = once(lambda: intruder.init_transactions(30))
    assert writer.write(into.attempt(0), numbered(0), before_commit=hook) == Apply()
    assert writer.write(into.attempt(1), numbered(1)) == Apply()
    assert into.ids() == batches(2)


def test_keys_nulls_headers_and_partitions_arrive_as_they_are(
    into: Into, writer: KafkaWriter
) -> None:
    headers = [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    sent: list[dict[str, Any]] = [
        {"key": None, "value": "v", "partition": 1, "headers": headers},
        {"key": "k", "value": None, "partition": 1, "headers": None},
    ]
    assert writer.write(into.attempt(0), batch_of(*sent)) == Apply()
    found = [
        (each.key(), each.value(), each.partition(), each.headers())
        for each in read_messages(into.kafka.address, into.topic)
    ]
    assert found == [(None, b"v", 1, [("h", b"1"), ("h", None)]), (b"k", None, 1, None)]


def test_a_header_without_a_name_is_refused(into: Into, writer: KafkaWriter) -> None:
    headers = [{"key": "h", "value": b"1"}, {"key": None, "value": b"x"}]
    with pytest.raises(ValueRefusedError, match="headers a header has no name"):
        writer.write(into.attempt(0), batch_of({"value": "v", "headers": headers}))
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    assert into.ids() == batches(1)


def murmur2(data: bytes) -> int:
    """Return Kafka's hash of a key, as `org.apache.kafka.common.utils.Utils` has it."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ (k >> 24)) * m & mask)
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return h ^ (h >> 15)


def test_null_and_empty_are_told_apart_where_many_records_go_in_one_call(
    into: Into, writer: KafkaWriter
) -> None:
    sent = [(None, "v"), ("k", None), ("k", ""), ("", "v"), (None, None), ("é", "ü")]
    given = batch_of(*({"key": key, "value": value} for key, value in sent))
    assert writer.write(into.attempt(0), given) == Apply()
    found = [(each.key(), each.value()) for each in read_messages(into.kafka.address, into.topic)]
    assert Counter(found) == Counter(
        tuple(None if each is None else each.encode() for each in record) for record in sent
    )


@pytest.mark.parametrize("extra", [{}, {"partition": None}, {"headers": None}])
def test_a_key_goes_where_javas_producers_put_it_and_keeps_its_order(
    into: Into, writer: KafkaWriter, extra: dict[str, None]
) -> None:
    sent = [(str(number % 97), str(number)) for number in range(12_000)]
    given = batch_of(*({"key": key, "value": value, **extra} for key, value in sent))
    assert writer.write(into.attempt(0), given) == Apply()
    found = read_topic(into.kafka.address, into.topic)
    places = {key: partition for partition, key, _ in found}
    assert len({(partition, key) for partition, key, _ in found}) == len(places) == 97
    # As kafka-clients' BuiltInPartitioner: murmur2 of the key, without its sign.
    assert (places[b"0"], places[b"1"], places[b"96"]) == tuple(
        (murmur2(key) & 0x7FFFFFFF) % 2 for key in (b"0", b"1", b"96")
    )
    for key in places:
        values = [int(value or b"") for _, each, value in found if each == key]
        assert values == sorted(values)


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"key": "k", "value": "x" * 2_000_000}, "MSG_SIZE_TOO_LARGE"),
        ({"key": "k", "value": "v", "partition": 7}, "_UNKNOWN_PARTITION"),
    ],
    ids=["too large", "no such partition"],
)
def test_a_record_that_kafka_does_not_take_refuses_the_batch(
    into: Into, writer: KafkaWriter, *, record: dict[str, Any], name: str
) -> None:
    given = batch_of({"key": "0", "value": "0", "partition": 0}, record)
    with pytest.raises(KafkaRefusedError) as raised:
        writer.write(into.attempt(0), given)
    assert raised.value.name == name
    assert into.ids() == batches(0)
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    assert into.ids() == batches(1)


def test_a_batch_that_the_driver_may_not_hold_is_refused(
    into: Into, writer: KafkaWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object, **__: object) -> Any:
        raise TooLargeError

    monkeypatch.setattr("holdfast.sinks.collect.collected", too_large)
    with pytest.raises(BatchTooLargeError, match="driverBatchBytes"):
        writer.write(into.attempt(0), numbered(0))

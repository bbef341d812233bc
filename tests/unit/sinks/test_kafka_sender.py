"""How rows are handed to a producer whose queue can be full."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException

from holdfast.sinks.kafka import sender
from holdfast.sinks.kafka.sender import Sender
from tests.stand_ins import stand_in

FULL = KafkaError(KafkaError._QUEUE_FULL)
TOO_LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)


class StubProducer:
    """A producer with a small queue, which the broker empties at each poll."""

    def __init__(self, *, room: int = 1_000_000, refused: dict[int, KafkaError] | None = None):
        self.room = room
        self.refused = refused or {}
        self.waiting = 0
        self.most = 0
        self.sent: list[bytes | None] = []
        self.calls: list[int] = []

    def __len__(self) -> int:
        return self.waiting

    def poll(self, seconds: float) -> int:
        self.waiting = 0 if seconds else self.waiting
        return 0

    def produce_batch(self, topic: str, messages: list[dict[str, Any]]) -> int:
        assert topic == "readings"
        taken = 0
        for number, message in enumerate(messages):
            error = self.refused.get(number) or (FULL if self.waiting >= self.room else None)
            if error is not None:
                message["_error"] = error
                continue
            assert "_error" not in message
            taken += 1
            self.waiting += 1
            self.sent.append(message["value"])
        self.most = max(self.most, self.waiting)
        self.calls.append(len(messages))
        return taken

    def produce(self, _topic: str, **message: Any) -> None:
        if self.waiting >= self.room:
            raise BufferError
        self.waiting += 1
        self.sent.append(message["value"])


def rows(number: int, size: int = 1) -> Any:
    (batch,) = pa.Table.from_pylist(
        [{"value": f"{each:0{size}}".encode()} for each in range(number)]
    ).to_batches()
    return batch


def values(number: int, size: int = 1) -> list[bytes]:
    return [f"{each:0{size}}".encode() for each in range(number)]


def test_all_rows_are_sent_in_their_order_in_few_calls() -> None:
    producer = StubProducer()
    Sender(stand_in(producer), "readings").send(rows(12_000))
    assert producer.sent == values(12_000)
    assert producer.calls == [5_000, 5_000, 2_000]


def test_nothing_of_an_empty_batch_is_sent() -> None:
    producer = StubProducer()
    Sender(stand_in(producer), "readings").send(rows(1).slice(1))
    assert producer.calls == []


def test_a_full_queue_is_waited_for_and_the_order_stays() -> None:
    producer = StubProducer(room=700)
    Sender(stand_in(producer), "readings").send(rows(3_000))
    assert producer.sent == values(3_000)
    assert producer.most == 700


def test_what_waits_is_bounded_in_rows_and_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "_WAITING_ROWS", 9_000)
    producer = StubProducer()
    Sender(stand_in(producer), "readings").send(rows(30_000))
    assert producer.most == 5_000
    monkeypatch.setattr(sender, "_BYTES", 10_000)
    monkeypatch.setattr(sender, "_WAITING_BYTES", 50_000)
    producer = StubProducer()
    Sender(stand_in(producer), "readings").send(rows(500, size=1_000))
    assert producer.sent == values(500, size=1_000)
    assert producer.most * 1_000 <= 50_000
    assert max(producer.calls) <= 10


def test_one_row_above_the_bound_is_sent_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "_WAITING_BYTES", 10)
    producer = StubProducer()
    Sender(stand_in(producer), "readings").send(rows(3, size=1_000))
    assert producer.sent == values(3, size=1_000)


def test_a_row_that_is_refused_ends_the_batch() -> None:
    producer = StubProducer(refused={2: TOO_LARGE})
    with pytest.raises(KafkaException) as raised:
        Sender(stand_in(producer), "readings").send(rows(5))
    assert raised.value.args[0].name() == "MSG_SIZE_TOO_LARGE"


def test_a_row_that_was_left_out_in_the_middle_is_not_sent_after_later_ones() -> None:
    producer = StubProducer(refused={2: FULL})
    with pytest.raises(KafkaException):
        Sender(stand_in(producer), "readings").send(rows(5))
    assert producer.sent == [b"0", b"1", b"3", b"4"]  # the transaction is aborted


@pytest.mark.parametrize("more", [{"headers": [{"key": "h", "value": b"1"}]}, {"partition": 1}])
def test_rows_with_headers_or_a_partition_go_one_by_one(more: dict[str, Any]) -> None:
    """A call for many takes no headers, and puts a row where its key belongs."""
    given: list[dict[str, Any]] = [{"value": b"a", **more}, {"value": b"b"}]
    (batch,) = pa.Table.from_pylist(given).to_batches()
    producer = StubProducer(room=1)
    Sender(stand_in(producer), "readings").send(batch)
    assert (producer.sent, producer.calls) == ([b"a", b"b"], [])

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from examples.sensors import messages
from examples.sensors.messages import Message, Reading, make_messages

SENT = make_messages(5_000, seed=7)


def readings(sent: list[Message]) -> list[Reading]:
    return [each.becomes for each in sent if isinstance(each.becomes, Reading)]


def test_the_same_seed_gives_the_same_messages_and_another_gives_others() -> None:
    assert make_messages(5_000, seed=7) == SENT
    assert make_messages(5_000, seed=8) != SENT


def test_offsets_of_each_partition_count_up_from_zero() -> None:
    for partition in range(messages.PARTITIONS):
        offsets = [each.offset for each in SENT if each.partition == partition]
        assert offsets == list(range(len(offsets)))
        assert offsets


def test_a_reading_that_comes_twice_is_the_same_message_again_at_another_offset() -> None:
    first: dict[str, Message] = {}
    again = 0
    for each in SENT:
        if isinstance(each.becomes, Reading):
            known = first.setdefault(each.becomes.reading_id, each)
            assert (known.value, known.key, known.becomes) == (each.value, each.key, each.becomes)
            assert known.partition == each.partition
            again += known is not each
    assert again > 50


def test_there_are_messages_for_every_reason() -> None:
    reasons = Counter(each.becomes for each in SENT if isinstance(each.becomes, str))
    assert set(reasons) == set(messages.REASONS)


def test_some_readings_look_like_duplicates_and_are_none() -> None:
    looks = Counter(
        (each.sensor_id, each.event_time, each.value)
        for each in {each.reading_id: each for each in readings(SENT)}.values()
    )
    assert max(looks.values()) >= 2


def test_no_reading_is_ahead_of_its_message_or_later_than_is_allowed() -> None:
    """Else what becomes of it would depend on how Spark cuts the messages into batches."""
    late = [
        each.timestamp - each.becomes.event_time
        for each in SENT
        if isinstance(each.becomes, Reading)
    ]
    assert min(late) == timedelta(0)
    assert timedelta(hours=1) < max(late) <= messages.LATEST

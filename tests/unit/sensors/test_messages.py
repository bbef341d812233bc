from __future__ import annotations

from collections import Counter
from itertools import pairwise

from examples.sensors import messages
from examples.sensors.messages import Reading, make_messages

SENT = make_messages(5_000, seed=7)
READINGS = [each.becomes for each in SENT if isinstance(each.becomes, Reading)]


def test_the_same_seed_gives_the_same_messages_and_another_gives_others() -> None:
    assert make_messages(5_000, seed=7) == SENT
    assert make_messages(5_000, seed=8) != SENT


def test_offsets_of_each_partition_count_up_from_zero() -> None:
    for partition in range(messages.PARTITIONS):
        offsets = [each.offset for each in SENT if each.partition == partition]
        assert offsets == list(range(len(offsets)))
        assert offsets


def test_every_reading_has_an_id_of_its_own() -> None:
    assert len({reading.reading_id for reading in READINGS}) == len(READINGS)


def test_there_are_messages_for_every_reason() -> None:
    reasons = Counter(each.becomes for each in SENT if isinstance(each.becomes, str))
    assert set(reasons) == set(messages.REASONS)


def test_some_readings_look_like_duplicates_and_some_are_late() -> None:
    looks = Counter((each.sensor_id, each.event_time, each.value) for each in READINGS)
    assert max(looks.values()) >= 2
    times = [reading.event_time for reading in READINGS]
    assert sum(later < earlier for earlier, later in pairwise(times)) > 50


def test_every_message_ends_in_exactly_one_of_typed_and_quarantine() -> None:
    typed = Counter(row[-2:] for row in messages.typed_rows(SENT))
    quarantined = Counter(row[-2:] for row in messages.quarantine_rows(SENT))
    assert typed + quarantined == Counter((each.partition, each.offset) for each in SENT)


def test_the_latest_reading_wins_and_of_two_at_the_same_time_the_higher_id() -> None:
    latest = {row[1]: row for row in messages.latest_rows(SENT)}
    for sensor, row in latest.items():
        of_sensor = [each for each in READINGS if each.sensor_id == sensor]
        newest = max(of_sensor, key=lambda each: (each.event_time, each.reading_id))
        assert row == messages.reading_row(newest)

"""The exact answer is computed from the messages alone; here once more, another way."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

from examples.sensors import answers
from examples.sensors.messages import TOO_LATE, Message, Reading, make_messages

SENT = make_messages(5_000, seed=7)
READINGS = {
    each.becomes.reading_id: each.becomes for each in SENT if isinstance(each.becomes, Reading)
}


def test_every_message_is_a_reading_for_the_first_time_a_duplicate_or_in_quarantine() -> None:
    counted = answers.count(SENT)
    typed = list(answers.typed_rows(SENT))
    quarantined = list(answers.quarantine_rows(SENT))
    assert len(typed) + counted.duplicates + len(quarantined) == counted.messages == len(SENT)
    assert Counter(row[0] for row in typed) == Counter(dict.fromkeys(READINGS, 1))
    assert counted.duplicates > 50
    assert counted.late > 100
    assert counted.too_late == sum(row[1] == TOO_LATE for row in quarantined) > 5


def test_the_latest_reading_wins_and_of_two_at_the_same_time_the_higher_id() -> None:
    latest = {row[1]: row for row in answers.latest_rows(SENT)}
    for sensor, row in latest.items():
        of_sensor = [each for each in READINGS.values() if each.sensor_id == sensor]
        newest = max(of_sensor, key=lambda each: (each.event_time, each.reading_id))
        assert row == answers.reading_row(newest)


def test_usage_counts_every_reading_once_in_the_hour_of_its_event() -> None:
    usage = list(answers.usage_rows(SENT))
    assert len({row[:2] for row in usage}) == len(usage)
    for product, hour, count, total in usage:
        within = [
            each
            for each in READINGS.values()
            if (each.product, each.event_time.strftime("%F %H")) == (product, f"{hour:%F %H}")
        ]
        assert (count, total) == (len(within), sum(Decimal(str(each.value)) for each in within))
    assert sum(int(str(row[2])) for row in usage) == len(READINGS)


def test_a_reading_that_is_delivered_twice_counts_once() -> None:
    hour = datetime(2026, 11, 1, 7, tzinfo=UTC)
    reading = Reading(
        event_time=hour.replace(minute=59),
        reading_id="r-1",
        sensor_id="s-1",
        product="p",
        value=1.5,
    )
    sent = [
        Message(
            partition=0, offset=offset, timestamp=hour, key=b"s-1", value=b"1.5", becomes=reading
        )
        for offset in range(2)
    ]
    assert list(answers.usage_rows(sent)) == [("p", hour, 1, Decimal("1.5"))]
    assert list(answers.typed_rows(sent)) == [(*answers.reading_row(reading), "p")]
    assert answers.count(sent) == answers.Counted(messages=2, duplicates=1, late=0, too_late=0)


def test_a_sum_has_the_digits_of_the_table() -> None:
    """A drill compares the text of a value: of one reading with 19.5, that is 19.500."""
    rows = list(answers.usage_rows(make_messages(11_000, seed=12)))
    assert {len(str(total).partition(".")[2]) for *_, total in rows} == {3}

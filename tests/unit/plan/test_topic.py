"""What a topic that is begun again still has, and what is said of what it has not."""

from __future__ import annotations

import pytest

from holdfast.plan.goals.topic import find_replaced, oldest_of
from holdfast.sources.kafka.found import KafkaPartition, KafkaSource, KafkaTopic

PARTITION = KafkaPartition(number=0, needed=6, earliest=2, latest=9)
THERE = KafkaTopic(name="readings", topic_id="a", recorded_id="a", partitions=(PARTITION,))
GONE = KafkaTopic(name="orders", is_there=False, partitions=(KafkaPartition(number=0, needed=6),))
AGAIN = KafkaTopic(name="alerts", topic_id="b", recorded_id="a", partitions=(PARTITION,))


@pytest.mark.parametrize(
    ("topics", "said"),
    [
        ((THERE,), []),
        ((THERE, GONE), ["the topic orders was deleted"]),
        ((AGAIN,), ["the topic alerts was created again"]),
        ((AGAIN, GONE), ["the topic alerts was created again", "the topic orders was deleted"]),
    ],
)
def test_a_topic_that_is_gone_or_new_has_lost_what_it_gave(
    topics: tuple[KafkaTopic, ...], said: list[str]
) -> None:
    found = find_replaced(KafkaSource(display_name="kafka", topics=topics))
    assert [each.what.partition(":")[0] for each in found] == said
    assert all(each.kind == "loses" for each in found)


def test_a_stream_begins_at_the_oldest_record_of_what_is_there() -> None:
    found = KafkaSource(display_name="kafka", topics=(THERE, GONE))
    assert oldest_of(found) == ({"readings": {0: 2}}, 7)

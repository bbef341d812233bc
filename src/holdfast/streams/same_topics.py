"""Whether several generations of a stream have read the same Kafka topics.

A reset that keeps rows can go on in another cluster, or after a topic was created again. Then equal
offsets are other records, and what was read before cannot be read again.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.record.contracts import read_contract
from holdfast.record.runs import first_run
from holdfast.sources.kafka.ranges import KafkaRange
from holdfast.sources.ranges import Ranges
from holdfast.storage.read import Reader

_SERVERS = "kafka.bootstrap.servers"


def find_replaced_topic(
    record: Reader, generations: Sequence[int], ranges: Sequence[Ranges]
) -> str | None:
    """Say why the generations may not have read the same topics; None when they have.

    Args:
        record: Of the stream.
        generations: Their numbers.
        ranges: What each of them has read.

    Raises:
        ReadError, RecordError: A run or a contract cannot be read.
    """
    topics = {
        (source, topic)
        for each in ranges
        for source, found in each.items()
        if isinstance(found, KafkaRange)
        for topic in found.end
    }
    ids = [_topic_ids(record, each) for each in generations]
    servers = [_servers(record, each) for each in generations]
    for source, topic in sorted(topics):
        known = [each.get(source, {}).get(topic) for each in ids]
        if None not in known:
            if len(set(known)) > 1:
                return f"the topic {topic} was replaced by another one in between"
            continue
        asked = [each.get(source) for each in servers]
        if None in asked or len(set(asked)) > 1:
            return f"whether the topic {topic} is still the one that was read is not known"
    return None


def _topic_ids(record: Reader, generation: int) -> dict[str, dict[str, str]]:
    run = first_run(record, generation=generation)
    return {} if run is None else run.topic_ids


def _servers(record: Reader, generation: int) -> dict[str, str]:
    """Return the brokers that each source was read from, by its number."""
    run = first_run(record, generation=generation)
    contract = None if run is None else read_contract(record, run.contract)
    options = () if contract is None else contract.source_options
    return {str(at): each[_SERVERS] for at, each in enumerate(options) if _SERVERS in each}

"""Sources as the progress of a batch describes them, in the words of a contract."""

from __future__ import annotations

import pytest

from holdfast.sources.kind import DescribedSource
from holdfast.sources.registry import describe_source, parse_offset


@pytest.mark.parametrize(
    ("description", "name", "options"),
    [
        ("KafkaV2[Subscribe[a, b]]", "kafka a,b", {"subscribe": "a,b"}),
        ("KafkaV2[SubscribePattern[a-.*]]", "kafka a-.*", {"subscribePattern": "a-.*"}),
        ("FileStreamSource[file:/in]", "FileSource[file:/in]", {"path": "file:/in"}),
        ("DeltaSource[s3a://lake/t]", "delta", {"path": "s3a://lake/t"}),
        ("RateStreamV2[rowsPerSecond=1, numPartitions=default", "rate", {}),
        ("RatePerMicroBatchStream[rowsPerBatch=3]", "rate-micro-batch", {}),
    ],
)
def test_what_it_reads(description: str, name: str, options: dict[str, str]) -> None:
    assert describe_source(description) == DescribedSource(name=name, options=options)


@pytest.mark.parametrize(
    "description", ["", "KafkaV2[Assign[a-0]]", "KafkaV2[", "DeltaSource", "com.acme.Queue@1f"]
)
def test_what_does_not_say_what_it_reads_is_not_known(description: str) -> None:
    assert describe_source(description) is None


def test_kafka_tells_its_topics_in_its_offsets_and_delta_not_its_place() -> None:
    offset = parse_offset('{"b":{"0":1},"a":{"0":1}}')
    assert offset.described == DescribedSource(name="kafka b,a", options={"subscribe": "b,a"})
    delta = '{"reservoirId":"t","reservoirVersion":1,"index":0,"isStartingVersion":false}'
    assert parse_offset(delta).described is None

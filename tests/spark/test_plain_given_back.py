"""The deleted checkpoint of a plain stream is given back: one of eight cases, drawn by the seed."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from campaigns.plain_given_back import LARGER, REFUSED, STREAMS, Plain, give_back
from campaigns.streams.plain_into import PER_BATCH
from holdfast.proof.multiset import compare
from lab import Kafka

pytestmark = pytest.mark.sampled(1)


@pytest.mark.parametrize("is_known", [True, False], ids=["in the log", "not in the log"])
@pytest.mark.parametrize("stream", STREAMS, ids="/".join)
def test_the_stream_goes_on_exactly_where_the_sink_ends(  # noqa: PLR0917 - fixtures
    spark: SparkSession, kafka: Kafka, tmp_path: Path, stream: tuple[str, str], is_known: bool
) -> None:
    """The last batch is in the sink, and in the history only if that is written on."""
    source, sink = stream
    home = tmp_path / f"plain_{uuid.uuid4().hex[:8]}"
    home.mkdir()
    if source == "kafka":
        kafka.create_topic(home.name, partitions=2)
    events = home / "streams/_holdfast/_queries"
    plain = Plain(spark=spark, kafka=kafka, home=home, source=source, sink=sink, events=events)
    recording = hf.record_queries(spark, root=f"{home}/streams", every_seconds=0.2)
    plain.send(2 * PER_BATCH)
    plain.run(1)
    if not is_known:
        assert recording.stop()
    plain.send(PER_BATCH)
    plain.run(1)
    recording.stop()
    shutil.rmtree(plain.checkpoint)
    plain.send(2 * PER_BATCH)
    how = give_back(plain)
    assert how != REFUSED
    assert (how == "agree") == is_known
    plain.run(LARGER)
    assert compare(plain.sent, plain.found()).exact

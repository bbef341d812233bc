"""A stream that is started on another source: what Spark does with it, and what the guard says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from holdfast.streams.refusal import StartRefusedError
from lab import Kafka
from tests.spark.file_stream import Stream

READ = ["row 0", "row 1", "row 2"]


def at(stream: Stream, files: Path) -> Stream:
    """Return a stream of another directory that runs on the same checkpoint."""
    files.mkdir(exist_ok=True)
    return replace(stream, files=files)


def accepting(stream: Stream, **more: DataFrame) -> dict[str, str]:
    """Let a start be refused; return what accepts it."""
    with pytest.raises(StartRefusedError, match="HF402 source-changed") as refused:
        stream.run(**more)
    return {"accept": f"HF402:{refused.value.nonces['HF402']}"}


def test_another_directory_is_refused_as_spark_would_and_the_old_one_goes_on(
    stream: Stream,
) -> None:
    stream.run()
    other = at(stream, stream.files.with_name("other"))
    other.add(7)
    with pytest.raises(StreamingQueryException, match="Wrong basePath"):
        other.run(**accepting(other))
    stream.add(3)
    stream.run(**accepting(stream))  # the last run was that of the other directory
    assert stream.rows() == [*READ, "row 3"]


def test_a_directory_above_is_read_and_the_old_one_then_fails(stream: Stream) -> None:
    below = at(stream, stream.files / "below")
    below.add(0)
    below.run()
    stream.run(**accepting(stream))
    assert stream.rows() == ["row 0", *READ]
    with pytest.raises(StreamingQueryException, match="Wrong basePath"):
        below.run(**accepting(below))


def test_two_filters_of_one_directory_that_are_swapped_are_refused_and_would_duplicate(
    stream: Stream,
) -> None:
    def matching(glob: str) -> DataFrame:
        reader = stream.spark.readStream.option("pathGlobFilter", glob)
        return reader.text(str(stream.files)).select("value")

    for name in ("a", "b"):
        (stream.files / f"{name}.{name}").write_text(f"{name}\n")
    one, two = matching("*.a"), matching("*.b")
    stream.run(df=one.union(two))
    assert stream.rows() == ["a", "b"]
    with pytest.raises(StartRefusedError, match="HF403 sources-swapped") as refused:
        stream.run(df=two.union(one))
    stream.run(df=one.union(two))
    assert stream.rows() == ["a", "b"]
    accepted = f"HF403:{refused.value.nonces['HF403']}"
    stream.run(df=two.union(one), accept=accepted)
    assert stream.rows() == ["a", "a", "b", "b"]


def test_another_topic_is_refused_as_spark_would(stream: Stream, kafka: Kafka) -> None:
    def topic(name: str) -> DataFrame:
        reader = stream.spark.readStream.format("kafka").option("subscribe", name)
        reader = reader.option("kafka.bootstrap.servers", kafka.address)
        return reader.option("startingOffsets", "earliest").load().selectExpr("string(value)")

    for name in ("first", "second"):
        kafka.create_topic(name, partitions=1)
        kafka.produce(name, [(0, None, name.encode(), 1_700_000_000_000)])
    stream.run(df=topic("first"))
    given = accepting(stream, df=topic("second"))
    with pytest.raises(StreamingQueryException, match="Some data may have been lost"):
        stream.run(df=topic("second"), **given)
    assert stream.rows() == ["first"]

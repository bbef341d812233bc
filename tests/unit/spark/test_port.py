"""Spark Connect has no adapter yet: it is refused by name, before anything is read or written."""

from __future__ import annotations

import pytest

import holdfast as hf
from holdfast.spark.port import find_port, port_of
from tests.stand_ins import stand_in


class DataFrame:
    """As that of Spark Connect: whatever is asked of it is a column."""

    __module__ = "pyspark.sql.connect.dataframe"
    isStreaming = True  # noqa: N815 - Spark's own word

    def __getattr__(self, name: str) -> str:
        return f"Column<{name}>"


class DataStreamWriter:
    __module__ = "pyspark.sql.connect.streaming.readwriter"


class SparkSession:
    __module__ = "pyspark.sql.connect.session"
    version = "4.2.1"


def test_a_dataframe_of_spark_connect_is_refused_by_name() -> None:
    into = hf.ForeachBatch(lambda *_: None)
    with pytest.raises(hf.UnsupportedSparkError) as refused:
        hf.start(stand_in(DataFrame()), stream="readings", into=into)
    assert "nothing was written" in refused.value.what
    assert "This is Spark Connect" in refused.value.why
    assert "SparkSession.builder.master(…) instead of .remote(…)" in refused.value.how
    assert "3.5, 4.0, 4.1, 4.2, 4.3" in refused.value.how


def test_a_chain_of_spark_connect_is_refused_by_name() -> None:
    into = hf.ForeachBatch(lambda *_: None)
    with pytest.raises(hf.UnsupportedSparkError, match="This is Spark Connect"):
        hf.guard(stand_in(DataStreamWriter()), stream="readings", into=into)


def test_a_session_of_spark_connect_has_no_port() -> None:
    assert find_port(stand_in(SparkSession())) is None
    with pytest.raises(hf.UnsupportedSparkError, match="This is Spark Connect"):
        port_of(stand_in(SparkSession()))

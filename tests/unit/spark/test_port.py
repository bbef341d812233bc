"""Which session has which port; what Spark Connect lacks is refused by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdfast as hf
from holdfast.spark.classic import adapter as classic
from holdfast.spark.connect import adapter as connect
from holdfast.spark.plans import Deduplication, Times
from holdfast.spark.port import find_port, is_stream_writer, own_view, port_of, refuse_connect
from holdfast.streams.resolve import check_session
from holdfast.streams.sending import check_sendable
from tests.stand_ins import stand_in


class DataFrame:
    """As that of Spark Connect: whatever is asked of it is a column."""

    __module__ = "pyspark.sql.connect.dataframe"
    isStreaming = True  # noqa: N815 - Spark's own word

    def __getattr__(self, name: str) -> str:
        return f"Column<{name}>"


class DataStreamWriter:
    __module__ = "pyspark.sql.connect.streaming.readwriter"


class Settings:
    def get(self, _: str, default: str | None = None) -> str | None:
        return default


class SparkSession:
    __module__ = "pyspark.sql.connect.session"
    version = "4.2.1"
    conf = Settings()


class OldSession(SparkSession):
    __module__ = "pyspark.sql.connect.session"
    version = "3.5.9"


SESSION = stand_in(SparkSession())
SHAPE = Deduplication(keys=(), key_places=(), event_time=None, delay_ms=None)


def test_each_kind_of_session_has_its_port() -> None:
    assert find_port(stand_in(SparkSession())) is connect
    assert port_of(stand_in(SparkSession())).runs_functions_elsewhere
    assert not classic.runs_functions_elsewhere
    assert find_port(stand_in(object())) is None


def test_both_adapters_have_the_same_functions() -> None:
    own = {"is_classic", "is_connect"}
    assert set(classic.__all__) - own == set(connect.__all__) - own


def test_a_dataframe_whose_columns_have_any_name_is_no_writer() -> None:
    assert not is_stream_writer(stand_in(DataFrame()))
    assert is_stream_writer(stand_in(DataStreamWriter()))


def test_a_version_that_connect_was_not_run_with_is_refused_by_name() -> None:
    assert check_session(stand_in(SparkSession()))[:2] == (4, 2)
    with pytest.raises(hf.UnsupportedSparkError) as refused:
        check_session(stand_in(OldSession()))
    assert "Spark 3.5 is not supported there yet" in refused.value.why
    assert "nothing was written" in refused.value.what


def test_what_needs_the_jvm_is_refused_by_name() -> None:
    df = stand_in(DataFrame())
    cases: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: connect.on_time(df, SHAPE, Times()), "proving a stream with state"),
        (lambda: refuse_connect(df, "recording queries"), "recording queries"),
    )
    for asked, told in cases:
        with pytest.raises(hf.UnsupportedSparkError, match="This is Spark Connect") as refused:
            asked()
        assert told in refused.value.why
        assert "SparkSession.builder.master(…) instead of .remote(…)" in refused.value.how


@pytest.mark.parametrize(
    ("into", "told"),
    [
        (hf.ForeachBatch(lambda *_: None), "only the process that starts the stream"),
        (hf.Postgres(lambda: "dsn", table="readings"), "a function that returns the DSN"),
    ],
)
def test_a_sink_that_cannot_be_sent_is_refused_by_name(into: hf.SinkSpec, told: str) -> None:
    with pytest.raises(hf.ConfigError, match=told):
        check_sendable([into], SESSION)


def test_what_names_its_secret_is_sent() -> None:
    check_sendable([hf.Postgres("env:DSN", table="readings", keys=("id",))], SESSION)
    check_sendable([hf.Delta(path="/lake/readings")], SESSION)


def test_a_merge_into_delta_needs_a_session_of_its_own() -> None:
    with pytest.raises(hf.UnsupportedSparkError, match=r"copies a session from version 4\.1 on"):
        check_sendable([hf.Delta(path="/lake/readings", keys=("id",))], SESSION)


def test_several_sinks_are_refused() -> None:
    sinks = [hf.Postgres("env:DSN", table=each) for each in ("a", "b")]
    with pytest.raises(hf.ConfigError, match="Several sinks"):
        check_sendable(sinks, SESSION)


class Views:
    """The temporary views of a session, which cannot be copied."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802 - Spark's name
        self.names.append(name)

    def dropTempView(self, name: str) -> None:  # noqa: N802 - Spark's name
        self.names.remove(name)


def test_a_program_keeps_no_view_when_its_session_cannot_be_copied() -> None:
    views, session = Views(), SparkSession()
    session.catalog = views  # type: ignore[attr-defined]
    opened = own_view(stand_in(session), stand_in(views), "rows")
    with pytest.raises(hf.UnsupportedSparkError, match="Spark Connect"), opened:
        pass
    assert views.names == []

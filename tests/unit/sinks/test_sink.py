"""What a stream is given as sinks, and the one that is a function of the user's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.ledger import Apply
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.foreach_batch import ForeachBatch
from holdfast.sinks.postgres.sink import Postgres
from holdfast.sinks.session import store_options
from holdfast.sinks.sink import as_sinks, ledgers_of
from holdfast.storage.location import parse_location
from tests.unit.sinks.delta_commits import attempt


def keep(batch: Any, number: int) -> None:
    batch.append(number)


def test_one_sink_or_several_in_their_order() -> None:
    first, second = Delta(path="a"), Delta(path="b")
    assert as_sinks(first) == (first,)
    assert as_sinks([second, first]) == (second, first)


def test_a_function_has_no_ledger_and_the_others_do() -> None:
    delta, postgres = Delta(path="a"), Postgres("env:DSN", table="t")
    assert ledgers_of([ForeachBatch(keep), delta, postgres]) == (delta, postgres)


def test_a_function_is_called_with_the_batch_and_its_number() -> None:
    sink, batch = ForeachBatch(keep), list[int]()
    assert sink.write(attempt(7), batch, before_commit=lambda _: None) == Apply()
    assert batch == [7]


def test_what_a_function_raises_is_raised() -> None:
    sink = ForeachBatch(lambda *_: 1 // 0)  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        sink.write(attempt(0), None, before_commit=lambda _: None)


def test_a_function_is_known_by_its_name() -> None:
    assert ForeachBatch(keep).name == "keep"
    assert ForeachBatch(keep, name="mine").name == "mine"
    nameless: Any = SimpleNamespace()
    assert ForeachBatch(nameless).name == "function"
    assert ForeachBatch(keep).place == "function:keep"
    assert ForeachBatch(keep).shown == "the function keep"
    assert not ForeachBatch(keep).is_appending


def test_a_store_is_asked_for_in_the_session_only_where_it_is_s3() -> None:
    settings = {
        "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:1",
        "spark.hadoop.fs.s3a.bucket.lake.endpoint": "http://127.0.0.1:2",
    }
    conf = SimpleNamespace(getAll=settings.items)
    spark = SimpleNamespace(sparkContext=SimpleNamespace(getConf=lambda: conf))
    assert store_options(spark, parse_location("/lake/gold")) == {}
    found = store_options(spark, parse_location("s3a://lake/gold"))
    assert "http://127.0.0.1:2" in found.values()
    assert "http://127.0.0.1:1" in store_options(spark, parse_location("s3a://sea/x")).values()

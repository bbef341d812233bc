"""What `hf.Native` takes: Spark's own sinks, each with its place and no option of the guard's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import ConfigError
from holdfast.sinks.native.formats import FORMATS
from holdfast.sinks.native.sink import Native
from holdfast.sinks.sink import SinkSpec


@pytest.mark.parametrize(
    ("format_", "given", "why"),
    [
        ("memory", {}, "every restart loses them"),
        ("foreachBatch", {}, "hf.ForeachBatch"),
        ("jdbc", {"path": "/a"}, "it takes avro, console"),
        ("delta", {}, "path= or table="),
        ("delta", {"path": "/a", "table": "b"}, "path= or table="),
        ("parquet", {"table": "b"}, "takes no table="),
        ("console", {"path": "/a"}, "takes no path="),
        ("kafka", {"partition_by": ["a"]}, "takes no partition_by="),
        ("kafka", {"options": {"checkpointLocation": "/a"}}, "use checkpoint="),
        ("kafka", {"options": {"asyncProgressTrackingEnabled": "true"}}, "asynchronous"),
        ("parquet", {"path": 5}, "path= takes a path as text, not int"),
        ("parquet", {"path": "/a", "options": None}, "options= takes a mapping"),
        ("parquet", {"path": "/a", "options": {1: "x"}}, "options= takes a mapping"),
        ("parquet", {"path": "/a", "partition_by": "day"}, r"list of columns: \['day'\]"),
        ("parquet", {"path": "/a", "options": {"PATH": "/b"}}, "use path="),
    ],
)
def test_what_cannot_be_guarded_is_refused(format_: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Native(format_, **given)


def test_it_is_known_by_its_place() -> None:
    assert Native("Delta", path="/lake/gold").label == "gold"
    assert Native("delta", table="gold.latest").place == "gold.latest"
    assert Native("kafka", options={"topic": "out"}).display_name == "Spark's own kafka sink to out"
    assert Native("console").display_name == "Spark's own console sink"
    assert Native("console", name="shown").label == "shown"


def test_it_has_no_ledger_and_every_format_says_what_it_does_not_guarantee() -> None:
    sink: SinkSpec = Native("noop")
    assert sink.open_ledger() is None
    assert all(each.not_guaranteed for each in FORMATS.values())


def test_its_options_are_not_shown_and_are_its_own() -> None:
    options = {"topic": "out", "kafka.sasl.jaas.config": 'password="hunter2"'}
    sink = Native("kafka", options=options)
    assert "hunter2" not in repr(sink)
    assert hash(sink) == hash(Native("kafka", options=options))
    options["topic"] = "other"
    assert sink.topic == "out"
    assert sink != Native("kafka", options=options)
    assert Native("parquet", path=Path("/lake/out")).path == "/lake/out"  # type: ignore[arg-type]

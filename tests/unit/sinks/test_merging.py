"""What is asked of keys before a sink is used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.sinks.merging import check_keys, check_output_mode
from holdfast.sinks.options import as_columns


def test_an_order_without_keys_is_refused() -> None:
    assert check_keys(["a"], "at") == ("a",)
    assert check_keys([], None) == ()
    with pytest.raises(ConfigError, match="give keys too"):
        check_keys([], "at")


def test_complete_is_merged_and_never_appended() -> None:
    check_output_mode("append", "the table")
    with pytest.raises(ConfigError, match="the table it would be there many times"):
        check_output_mode("complete", "the table")


@pytest.mark.parametrize("keys", [[""], ["a", "a"]])
def test_each_key_is_named_once(keys: list[str]) -> None:
    with pytest.raises(ConfigError, match="each column once"):
        check_keys(keys, None)
    with pytest.raises(ConfigError, match="each column once"):
        as_columns(keys)


GIVEN: dict[str, Callable[[], object]] = {
    "dsn of a variable that is not set": lambda: hf.Postgres(None, table="t"),  # type: ignore[arg-type]
    "url of a variable that is not set": lambda: hf.Database(None, table="t"),  # type: ignore[arg-type]
    "servers": lambda: hf.Kafka(5, topic="t"),  # type: ignore[arg-type]
    "table": lambda: hf.Postgres("env:D", table=5),  # type: ignore[arg-type]
    "path": lambda: hf.Delta(path=5),  # type: ignore[arg-type]
    "name": lambda: hf.Postgres("env:D", table="t", name="a\nb"),
    "order": lambda: hf.Postgres("env:D", table="t", keys=["id"], sequence_by=""),
}


@pytest.mark.parametrize("given", GIVEN)
def test_what_a_sink_cannot_use_is_refused_when_it_is_given(given: str) -> None:
    with pytest.raises(ConfigError, match="take"):
        GIVEN[given]()


def test_a_path_is_taken_as_its_text() -> None:
    sink = hf.Delta(path=Path("/lake/t"))  # type: ignore[arg-type]
    assert sink.path == "/lake/t"

"""What `hf.Delta` becomes for one start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.errors import ConfigError
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.delta.target import Target
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage


def test_what_is_prepared_is_what_was_described(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    log = MemoryStorage()
    log.location = parse_location("/lake/gold")
    opened = Target(name="gold", reader=log)

    def open_target(df: Any, **given: Any) -> Any:
        asked.update(given, df=df)
        return opened

    monkeypatch.setattr("holdfast.sinks.delta.sink.open_target", open_target)
    df = SimpleNamespace(sparkSession="session")
    sink = Delta(table="lake.gold", keys=["id"], sequence_by="at")
    mine = sink.prepare(df, stream="readings", output_mode="complete")
    given = {"path": None, "table": "lake.gold", "keys": ("id",), "sequence_by": "at"}
    assert asked == {"df": df, **given}
    assert (mine._spark, mine._target, mine.place) == ("session", opened, "/lake/gold")
    assert (sink._spark, sink._target, sink.place) == (None, None, "lake.gold")
    appending = Delta(path="/lake/gold")
    with pytest.raises(ConfigError, match="the Delta table /lake/gold"):
        appending.prepare(df, stream="readings", output_mode="complete")
    appending.prepare(df, stream="readings", output_mode="append")
    assert asked["path"] == "/lake/gold"

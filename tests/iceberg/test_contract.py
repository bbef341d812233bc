"""The Iceberg sink, by the suite that is shipped for users' own."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast as hf
from holdfast.sinks.sink import SinkSpec
from holdfast.testing.sink_contract import SinkContract


class TestIceberg(SinkContract):
    @pytest.fixture
    def sink(self, table: str) -> SinkSpec:
        return hf.Iceberg(table=table)

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.table(sink.table).collect()]

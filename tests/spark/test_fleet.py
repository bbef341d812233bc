"""A fleet scan as a Spark job gives the rows of the scan without Spark, exactly."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.fleet.on_spark import _by_map, rows_of
from holdfast.fleet.request import FleetRequest
from holdfast.fleet.rows import FleetRow
from holdfast.fleet.scan import FleetScanner
from holdfast.fleet.slices import slice_search
from tests.unit.cli.test_inspect_directory import stored, write_to
from tests.unit.evidence.damaged import every, remove, rewrite

OWNER = "^([^/]+)/"


@pytest.fixture
def lake(tmp_path: Path) -> str:
    kinds = {
        "safe": ("4.2-kafka", every()),
        "pending": ("4.2-kafka", remove("commits/6")),
        "gap": ("4.2-kafka", remove("offsets/5")),
        "torn": ("4.2-kafka", rewrite("offsets/6", lambda _: b"v1\n{")),
        "state": ("4.2-aggregation", every()),
        "damaged-state": ("4.2-aggregation", remove("state/0/0/6.*")),
        "join": ("4.2-join", every()),
    }
    places = {f"team-{team}/deep/{kind}": found for team in (1, 2) for kind, found in kinds.items()}
    write_to(tmp_path, stored({**places, "alone": kinds["gap"]}))
    return str(tmp_path)


def without_times(row: FleetRow) -> str:
    plain = msgspec.structs.replace(row, judged_ms=0, seen_ms=0)
    return msgspec.json.encode(plain).decode()


def test_spark_gives_the_rows_of_a_scan_without_it(spark: SparkSession, lake: str) -> None:
    request = FleetRequest(locations=(lake,), owner=OWNER)
    bare = Counter(map(without_times, FleetScanner(request).run()))
    assert bare.total() == 15
    df = hf.scan_fleet(spark, [lake], owner=OWNER, slices=3)
    assert Counter(map(without_times, rows_of(df))) == bare
    assert df.filter("verdict = 'will-not-start'").count() == 7
    mapped = _by_map(spark, slice_search(request, slices=3), 3)
    assert mapped.schema == df.schema
    assert Counter(map(without_times, rows_of(mapped))) == bare


def test_an_empty_place_is_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    assert hf.scan_fleet(spark, [str(tmp_path)]).count() == 0

"""A session without Delta is told which settings give it Delta."""

from __future__ import annotations

import shlex
from types import SimpleNamespace

import pytest

from holdfast.sinks.delta.columns import DeltaTableError
from holdfast.sinks.delta.commit import COMMITTING
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.delta.table import _check_delta, _check_session, open_target
from holdfast.spark_versions import DELTA_PACKAGES, DELTA_SESSION
from tests.stand_ins import stand_in


@pytest.mark.parametrize(("version", "package"), DELTA_PACKAGES.items())
def test_the_settings_of_its_version_of_spark_are_named(version: str, package: str) -> None:
    spark = SimpleNamespace(conf={}, version=f"{version}.1")
    with pytest.raises(DeltaTableError) as refused:
        _check_delta(stand_in(spark), "lake/readings")
    assert f"spark.jars.packages={package}" in refused.value.how
    for name, value in DELTA_SESSION.items():
        assert f"{name}={value}" in refused.value.how


def test_a_version_without_delta_is_refused_by_name() -> None:
    with pytest.raises(DeltaTableError) as refused:
        _check_delta(stand_in(SimpleNamespace(conf={}, version="4.3.0")), "lake/readings")
    assert "no Delta Lake for Spark 4.3.0" in refused.value.why


def test_a_session_with_delta_passes() -> None:
    _check_delta(stand_in(SimpleNamespace(conf=DELTA_SESSION, version="4.2.0")), "lake/readings")


def test_a_plan_on_a_table_prints_what_to_paste_before_it_is_applied_again() -> None:
    spark = SimpleNamespace(conf={}, version="4.2.0")
    with pytest.raises(DeltaTableError) as refused:
        open_target(stand_in(spark), Delta(path="/lake/orders"))
    assert refused.value.what == (
        "The Delta table /lake/orders cannot be opened in this Spark session; nothing was written."
    )
    pasted = refused.value.how.partition("export PYSPARK_SUBMIT_ARGS=")[2]
    words = shlex.split(shlex.split(pasted)[0])
    packages = f"spark.jars.packages={DELTA_PACKAGES['4.2']}"
    settings = [packages, *(f"{name}={value}" for name, value in DELTA_SESSION.items())]
    assert words == [*(w for each in settings for w in ("--conf", each)), "pyspark-shell"]


V2_MODE = "spark.databricks.delta.v2.enableMode"


@pytest.mark.parametrize("setting", [*((each, "7") for each in COMMITTING), (V2_MODE, "strict")])
def test_settings_that_break_the_ledger_are_refused_by_name(setting: tuple[str, str]) -> None:
    spark = SimpleNamespace(conf=dict([setting]))
    with pytest.raises(DeltaTableError, match=f"{setting[0]} is"):
        _check_session(stand_in(spark), "lake/readings")


@pytest.mark.parametrize("conf", [{}, {V2_MODE: "AUTO"}, {V2_MODE: "NONE"}])
def test_other_settings_of_delta_pass(conf: dict[str, str]) -> None:
    _check_session(stand_in(SimpleNamespace(conf=conf)), "lake/readings")

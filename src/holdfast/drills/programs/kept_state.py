"""What a stream's state holds when it has read all, by Spark's own reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.drills.scratch import keep_rows
from holdfast.spark.errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIMERS = "timers"
_TIMERS_OPTION = "readRegisteredTimers"
_JOIN = "symmetricHashJoin"
_SIDES = ("left", "right")
_ONE_STORE = "default"
"""From format 3 on, a join keeps both sides in it."""
_INTERNAL = "$"
"""Begins the names of variables that Spark keeps for itself: when others are to be forgotten."""


def keep_state(spark: SparkSession, home: Path, path: Path) -> None:
    """Write the state of every query below a place where the drill finds it, whole or not at all.

    Not at all where Spark cannot read it, as before 4.0.
    """
    try:
        keep_rows(_stores(spark, home), path)
    except spark_errors():
        path.unlink(missing_ok=True)


def _stores(spark: SparkSession, home: Path) -> Iterator[tuple[str, DataFrame]]:
    """Yield the rows of every store, with its operator and name."""
    for checkpoint in _checkpoints(home):
        described = spark.read.format("state-metadata").load(str(checkpoint)).collect()
        for operator, option, name in sorted({way for each in described for way in _ways(each)}):
            reader = spark.read.format("statestore").option("operatorId", operator)
            rows = reader.option(option, name).load(str(checkpoint)).drop("partition_id")
            yield f"{operator}/{TIMERS if option == _TIMERS_OPTION else name}", rows


def _checkpoints(home: Path) -> list[Path]:
    """Return those of queries with state that have committed a batch."""
    found = (path.parent for path in home.rglob("state") if path.is_dir())
    return sorted(each for each in found if any(each.glob("commits/[0-9]*")))


def _ways(store: Any) -> Iterator[tuple[int, str, str]]:
    """Yield the operator, and an option by which rows of a store are asked for.

    A join keeps each side in two stores, which only together are its rows, or both in one.
    `transformWithState` has variables and timers in one store, to be asked for one by one.
    """
    operator, name = store.operatorId, store.stateStoreName
    properties = json.loads(store.operatorProperties or "{}")
    variables = properties.get("stateVariables", ())
    if store.operatorName == _JOIN:
        for side in _SIDES if name == _ONE_STORE else (name.partition("-")[0],):
            yield operator, "joinSide", side
    for variable in variables:
        if variable["stateVariableType"] == "TimerState":
            yield operator, _TIMERS_OPTION, "true"
        elif not variable["stateName"].startswith(_INTERNAL):
            yield operator, "stateVarName", variable["stateName"]
    if not variables and store.operatorName != _JOIN:
        yield operator, "storeName", name

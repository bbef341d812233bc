"""What a stream's state holds when it has read all, by Spark's own reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from holdfast.drills.scratch import keep_rows

_JOIN = "symmetricHashJoin"


def keep_state(spark: Any, home: Path, path: Path) -> None:
    """Write the state of every query below a place where the drill finds it, whole or not at all.

    Not at all where Spark cannot read it: before 4.0, and of operators with variables of their own.
    """
    try:
        keep_rows(_stores(spark, home), path)
    except (PySparkException, Py4JJavaError):
        path.unlink(missing_ok=True)


def _stores(spark: Any, home: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of every store, with its operator and name."""
    for checkpoint in _checkpoints(home):
        described = spark.read.format("state-metadata").load(str(checkpoint)).collect()
        for operator, option, name in sorted({_how_to_read(each) for each in described}):
            reader = spark.read.format("statestore").option("operatorId", operator)
            rows = reader.option(option, name).load(str(checkpoint)).drop("partition_id")
            yield f"{operator}/{name}", rows


def _checkpoints(home: Path) -> list[Path]:
    """Return those of queries with state that have committed a batch."""
    found = (path.parent for path in home.rglob("state") if path.is_dir())
    return sorted(each for each in found if any(each.glob("commits/[0-9]*")))


def _how_to_read(store: Any) -> tuple[int, str, str]:
    """Return the operator, and the option by which its rows are asked for.

    A join keeps each side in two stores, which only together are its rows.
    """
    name = store.stateStoreName
    if store.operatorName == _JOIN:
        return store.operatorId, "joinSide", name.partition("-")[0]
    return store.operatorId, "storeName", name

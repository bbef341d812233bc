"""The columns that a streaming query would bind to its state, from its plan, before it runs.

Only a physical plan has them, and Spark makes one for every batch. The one here is made as
`df.explain()` makes it: an `IncrementalExecution` without a checkpoint, planned and not prepared,
so that no rule of Spark reads or writes state. Its constructor differs between versions, so its
arguments are chosen by their types; what is not known here gets Spark's own default.

From Spark 4.2 `operators/stateful/…`: keys, values and order as each operator writes its schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from holdfast.evidence.state_columns import (
    JOIN_VALUES,
    Column,
    Columns,
    PlannedState,
    StoreColumns,
    columns_of,
)
from holdfast.formats.event_log.plans import without_ids
from holdfast.record.bounds import MAX_TEXT
from holdfast.redact import redact
from holdfast.spark.classic.jvm import Java, jvm_of, new_array
from holdfast.spark.classic.plan import analysed, each, kind_of
from holdfast.spark.errors import spark_errors, unplanned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PACKAGES = ("runtime.", "")
"""Where the class is: from Spark 4.1 on, and before."""
_EXECUTION = "org.apache.spark.sql.execution.streaming."
_DEFAULT = "default"
_DEDUPLICATING = ("StreamingDeduplicateExec", "StreamingDeduplicateWithinWatermarkExec")
_OPAQUE = (
    "FlatMapGroupsInPandasWithStateExec",
    "FlatMapGroupsWithStateExec",
    "TransformWithStateExec",
    "TransformWithStateInPySparkExec",
)
"""Only their key is in the plan."""


def plan_state(
    df: DataFrame, *, output_mode: str, operators: int
) -> tuple[PlannedState | None, ...]:
    """Return what each stateful operator of a query would bind; None where the plan hides it.

    Args:
        df: The streaming DataFrame.
        output_mode: As for Spark.
        operators: How many stateful operators the query has.
    """
    if not operators:
        return ()
    try:
        found = tuple(_find_operators(physical_plan(df, output_mode)))
    except unplanned():
        found = ()
    return found if len(found) == operators else (None,) * operators


def physical_plan(df: DataFrame, output_mode: str) -> Java:
    """Return the physical plan of a streaming query; nothing is run."""
    jvm = jvm_of(df.sparkSession)
    kind = _find_class(jvm)
    (made,) = kind.getConstructors()
    defaults = {str(method.getName()): method for method in kind.getDeclaredMethods()}
    nothing = new_array(df.sparkSession, jvm.java.lang.Object, 0)
    given = []
    for number, parameter in enumerate(made.getParameterTypes(), start=1):
        name = str(parameter.getName())
        default = defaults.get(f"$lessinit$greater$default${number}")
        given.append(
            _argument(df, name, output_mode) if default is None else default.invoke(None, nothing)
        )
    return _named(jvm, str(kind.getName()))(*given).sparkPlan()


def _find_class(jvm: Java) -> Java:
    for package in _PACKAGES:
        try:
            return jvm.java.lang.Class.forName(f"{_EXECUTION}{package}IncrementalExecution")
        except spark_errors():
            continue
    raise LookupError("IncrementalExecution")


def _named(jvm: Java, name: str) -> Java:
    for part in name.split("."):
        jvm = getattr(jvm, part)
    return jvm


def _argument(df: DataFrame, type_name: str, output_mode: str) -> object:
    """Return an argument of the constructor by its type.

    Raises:
        LookupError: It is of a type that no known version of Spark has there.
    """
    jvm = jvm_of(df.sparkSession)
    package, _, name = type_name.rpartition(".")
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    made: dict[str, Callable[[], object]] = {
        "SparkSession": df._jdf.sparkSession,
        "LogicalPlan": lambda: analysed(df),
        "OutputMode": getattr(modes, output_mode.capitalize()),
        "String": lambda: "none",
        "UUID": jvm.java.util.UUID.randomUUID,
        "long": lambda: 0,
        "boolean": lambda: False,
        "Option": jvm.scala.Option.empty,
        "OffsetSeqMetadata": lambda: _no_offsets(jvm, package),
        "OffsetSeqMetadataBase": lambda: _no_offsets(jvm, package),
        "WatermarkPropagator": lambda: getattr(_named(jvm, f"{type_name}$"), "MODULE$").noop(),
    }
    return made[name]()


def _no_offsets(jvm: Java, package: str) -> Java:
    empty = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({})
    return _named(jvm, f"{package}.OffsetSeqMetadata")(0, 0, empty)


def _find_operators(node: Java) -> Iterator[PlannedState | None]:
    """Yield what each operator would bind, in the order in which Spark numbers them."""
    kind = kind_of(node)
    if kind == "StateStoreSaveExec":
        yield _aggregate(node)
    elif kind == "SessionWindowStateStoreSaveExec":
        yield _sessions(node)
    elif kind in _DEDUPLICATING:
        yield PlannedState(stores={_DEFAULT: StoreColumns(key=_columns(node.keyExpressions()))})
    elif kind == "StreamingSymmetricHashJoinExec":
        yield _join(node)
    elif kind == "StreamingGlobalLimitExec":
        yield PlannedState()
    elif kind in _OPAQUE:
        yield None
    for child in each(node.children()):
        yield from _find_operators(child)


def _aggregate(node: Java) -> PlannedState:
    value = _schema(node.stateManager().getStateValueSchema())
    columns = StoreColumns(key=_columns(node.keyExpressions()), value=value)
    functions = list(each(node.child().aggregateExpressions()))
    return PlannedState(
        stores={_DEFAULT: columns},
        parts=_kept(one.aggregateFunction().sql() for one in functions),
        printed=_printed(functions),
    )


def _printed(expressions: Iterable[Java]) -> str:
    """Return expressions as Spark prints them in the plan of a batch."""
    return without_ids(f"[{', '.join(str(one.toString()) for one in expressions)}]")


def _kept(texts: Iterator[object]) -> tuple[str, ...] | None:
    """Return texts as a contract keeps them; None when one is too long."""
    found = tuple(redact(str(text)) for text in texts)
    return found if all(len(text) <= MAX_TEXT for text in found) else None


def _sessions(node: Java) -> PlannedState | None:
    """Return what a session window would bind: only the operator that restores it tells."""
    while kind_of(node) != "SessionWindowStateStoreRestoreExec":
        children = list(each(node.children()))
        if len(children) != 1:
            return None
        (node,) = children
    manager = node.stateManager()
    key, value = _schema(manager.getStateKeySchema()), _schema(manager.getStateValueSchema())
    return PlannedState(stores={_DEFAULT: StoreColumns(key=key, value=value)})


def _join(node: Java) -> PlannedState:
    stores = {}
    for side, keys, rows in (
        ("left", node.leftKeys(), node.left()),
        ("right", node.rightKeys(), node.right()),
    ):
        key = tuple(_column(one, f"field{place}") for place, one in enumerate(each(keys)))
        stores[f"{side}-keyToNumValues"] = StoreColumns(key=key)
        stores[f"{side}{JOIN_VALUES}"] = StoreColumns(value=_columns(rows.output()))
    left, right = list(each(node.leftKeys())), list(each(node.rightKeys()))
    pairs = zip(left, right, strict=True)
    return PlannedState(
        stores=stores,
        parts=_kept(f"{one.sql()} = {other.sql()}" for one, other in pairs),
        printed=f"{_printed(left)}, {_printed(right)}",
    )


def _columns(attributes: Java) -> Columns:
    return tuple(_column(one, str(one.name())) for one in each(attributes))


def _column(expression: Java, name: str) -> Column:
    kind = _type(expression.dataType())
    return Column(name=name, type=kind, nullable=bool(expression.nullable()))


def _type(kind: Java) -> object:
    return json.loads(str(kind.json()))


def _schema(schema: Java) -> Columns | None:
    return columns_of(json.loads(str(schema.json())))

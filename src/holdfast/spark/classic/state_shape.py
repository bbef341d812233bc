"""What a query with state gives, as far as that is decided by its rows and not by their order.

Only shapes that are known to be decided are named here: one operator with state, and above it
nodes that take each of its rows alone. Everything else is *not comparable*, by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.spark.classic.aggregate_columns import id_of, made_above, made_as
from holdfast.spark.classic.batch_plan import find_state, state_of
from holdfast.spark.classic.jvm import Java
from holdfast.spark.classic.plan import analysed, each, kind_of, walk, walk_streaming
from holdfast.spark.classic.state_columns import physical_plan
from holdfast.spark.plans import Aggregation, Deduplication, Made, NotDecided, StateShape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DELAY = "spark.watermarkDelayMs"
"""The metadata of a column that has a watermark."""
_MULTIPLE = "spark.sql.streaming.statefulOperator.allowMultiple"
_OPERATORS = ("Aggregate", "Deduplicate", "DeduplicateWithinWatermark")
_ABOVE = frozenset(("Project", "SubqueryAlias", "Filter", "Sort"))


def state_shape(df: DataFrame, *, output_mode: str) -> StateShape | NotDecided:
    """Return what a streaming query with state gives, or why that cannot be told from its rows."""
    names = find_state(df)
    path = _path(analysed(df))
    if isinstance(path, NotDecided):
        return NotDecided(f"it keeps state: {', '.join(names)}; {path.reason}")
    operator = path[-1]
    kind = kind_of(operator)
    if df.sparkSession.conf.get(_MULTIPLE, "true") != "true":
        return NotDecided(f"it keeps state, and {_MULTIPLE} is switched off")
    if kind == "Aggregate":
        return _aggregation(df, path, output_mode)
    if kind in ("Deduplicate", "DeduplicateWithinWatermark"):
        return _deduplication(df, path, output_mode)
    return NotDecided(f"it keeps state: {', '.join(names)}")


def _path(root: Java) -> list[Java] | NotDecided:
    """Return the nodes from the top of a plan to its only one with state."""
    path = [root]
    while kind_of(path[-1]) in _ABOVE:
        path.append(path[-1].children().head())
    operator = path[-1]
    if kind_of(operator) not in _OPERATORS:
        return NotDecided(f"not compared through {kind_of(operator)}")
    below = (node for child in each(operator.children()) for node in walk_streaming(child))
    if sum(kind_of(node) in _OPERATORS for node in walk_streaming(root)) != 1 or any(
        state_of(node) for node in below
    ):
        return NotDecided("more than one operator with state")
    return path


def _aggregation(df: DataFrame, path: list[Java], output_mode: str) -> Aggregation | NotDecided:
    operator = path[-1]
    grouping = list(each(operator.groupingExpressions()))
    if any("session_window" in str(expression.toString()) for expression in grouping):
        return NotDecided("it keeps state: session windows, which depend on where batches ended")
    made: dict[int, Made] = {}
    for expression in each(operator.aggregateExpressions()):
        found = made_as(expression)
        if isinstance(found, NotDecided):
            return found
        made[id_of(expression)] = found
    above = made_above(path[:-1], made, output_mode)
    if isinstance(above, NotDecided):
        return above
    place = _grouping_place(df, grouping, output_mode)
    if isinstance(place, NotDecided):
        return place
    columns = {str(one.name()): above.get(id_of(one), Made.VALUE) for one in each(path[0].output())}
    return Aggregation(columns=columns, event_time=place, output_mode=output_mode)


def _grouping_place(
    df: DataFrame, grouping: list[Java], output_mode: str
) -> int | NotDecided | None:
    """Return which grouping expression Spark's operator judges late rows by; None for none."""
    saves = _find(physical_plan(df, output_mode), "StateStoreSaveExec")
    if len(saves) != 1:
        return NotDecided("it keeps state, and Spark's plan of it is not understood")
    keys = list(each(saves[0].keyExpressions()))
    marked = [at for at, key in enumerate(keys) if key.metadata().contains(DELAY)]
    if not marked or output_mode == "complete":
        return None  # in complete mode no row is ever dropped
    by_id = {id_of(one): at for at, one in enumerate(grouping) if hasattr(one, "exprId")}
    found = by_id.get(id_of(keys[marked[0]]))
    if found is None and len(keys) == len(grouping):
        found = marked[0]
    if found is None or len(marked) > 1:
        return NotDecided("it keeps state, and which column its watermark is of cannot be told")
    return found


def _deduplication(df: DataFrame, path: list[Java], output_mode: str) -> Deduplication | NotDecided:
    operator = path[-1]
    rows = [id_of(one) for one in each(operator.child().output())]
    keys = [id_of(one) for one in each(operator.keys())]
    names: dict[int, str] = {}
    origin = {of: of for of in rows}
    for node in reversed(path[:-1]):
        if kind_of(node) == "Filter":
            return NotDecided("it keeps state: a filter after the duplicates are dropped")
        if kind_of(node) == "Project":
            origin = dict(_copies(node, origin))
    for one in each(path[0].output()):
        names.setdefault(origin.get(id_of(one), -1), str(one.name()))
    if missing := [at for at in keys if at not in names]:
        (name,) = (str(one.name()) for one in each(operator.keys()) if id_of(one) == missing[0])
        return NotDecided(f"it keeps state: dropDuplicates by {name}, which is not in the table")
    is_within = kind_of(operator) == "DeduplicateWithinWatermark"
    judged = _judged_column(df, output_mode, rows=rows)
    if isinstance(judged, NotDecided):
        return judged
    event_time, delay = judged
    return Deduplication(
        keys=tuple(names[at] for at in keys),
        key_places=tuple(rows.index(at) for at in keys),
        event_time=event_time,
        delay_ms=delay if is_within else None,
    )


def _judged_column(
    df: DataFrame, output_mode: str, *, rows: list[int]
) -> tuple[int | None, int | None] | NotDecided:
    """Return which column late rows are judged by, and the delay of its watermark.

    Only the physical plan tells: a column that nothing else needs is gone there, and then no row
    is dropped as late.
    """
    plan = physical_plan(df, output_mode)
    names = ("StreamingDeduplicateExec", "StreamingDeduplicateWithinWatermarkExec")
    found = [node for name in names for node in _find(plan, name)]
    if len(found) != 1:
        return NotDecided("it keeps state, and Spark's plan of it is not understood")
    marked = [one for one in each(found[0].child().output()) if one.metadata().contains(DELAY)]
    if not marked:
        return None, None
    if id_of(marked[0]) not in rows:
        return NotDecided("it keeps state, and which column its watermark is of cannot be told")
    return rows.index(id_of(marked[0])), int(marked[0].metadata().getLong(DELAY))


def _copies(node: Java, origin: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the columns of a projection that are columns of the operator as they are."""
    for one in each(node.projectList()):
        source = one.child() if kind_of(one) == "Alias" else one
        if kind_of(source) == "AttributeReference" and id_of(source) in origin:
            yield id_of(one), origin[id_of(source)]


def _find(node: Java, kind: str) -> list[Java]:
    return [each for each in walk(node) if kind_of(each) == kind]

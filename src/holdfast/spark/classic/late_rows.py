"""The batch form of a query with state: rows that its batches dropped as late are left out.

Which rows were late is decided where the operator with state is, by the watermark of the batch that
read them. So every source row carries that watermark in a column that the query does not know, up
to the operator: the analysed plan is built again with the column in each projection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.proof.row_hash import quoted
from holdfast.spark.classic.jvm import Java, jvm_of
from holdfast.spark.classic.plan import analysed, each, kind_of
from holdfast.spark.plans import TAG, Deduplication, NotDecided, OnTime, StateShape, Times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PASSING = frozenset(("Filter", "Generate", "Join", "SubqueryAlias", "EventTimeWatermark"))
"""Nodes that give every column of what they read."""
_OPERATORS = ("Aggregate", "Deduplicate", "DeduplicateWithinWatermark")


def on_time(df: DataFrame, shape: StateShape, times: Times) -> OnTime | NotDecided:
    """Return a batch DataFrame as the stream would have given it.

    Args:
        df: Made by the stream's function from sources that have the column `TAG`, hidden.
        shape: Of the stream.
        times: Up to where windows are closed, and up to where nothing is known.
    """
    operator = _find_operator(analysed(df))
    if operator is None:
        return NotDecided("it keeps state, and its batch form has another plan")
    rewriting = _Rewriting(df.sparkSession)
    carried = rewriting.carry(operator.children().head())
    if isinstance(carried, NotDecided):
        return carried
    rows, tag = carried
    time = _event_time(operator, rows, shape)
    if time is None or tag is None:
        made = rewriting.given(df, operator, rows)
        return OnTime(df=made, entering=rewriting.numbered(rows), late=None)
    moment = rewriting.moment(time)
    if moment is None:
        return NotDecided("it keeps state, and its event time is not a timestamp")
    late = rewriting.filtered(rows, rewriting.is_late(moment, tag))
    kept = rewriting.filtered(rows, rewriting.is_on_time(moment, tag))
    if times.closed_ms is not None:
        kept = rewriting.filtered(kept, rewriting.until(moment, times.closed_ms))
    unknown = None
    if times.unknown_until_ms is not None:
        is_old = rewriting.until(moment, times.unknown_until_ms)
        unknown = rewriting.given(df, operator, rewriting.filtered(rows, is_old))
        kept = rewriting.filtered(kept, rewriting.otherwise(is_old))
        late = rewriting.filtered(late, rewriting.otherwise(is_old))
    return OnTime(
        df=rewriting.given(df, operator, kept),
        entering=rewriting.numbered(kept),
        late=rewriting.numbered(late),
        given_late=rewriting.given(df, operator, late),
        unknown=unknown,
    )


def _find_operator(node: Java) -> Java | None:
    """Return the node with state of the batch plan: the first whose rows come from a source."""
    if kind_of(node) in _OPERATORS and _has_tag(node):
        return node
    for child in each(node.children()):
        found = _find_operator(child)
        if found is not None:
            return found
    return None


def _has_tag(node: Java) -> bool:
    return _tag_of(node) is not None or any(_has_tag(child) for child in each(node.children()))


def _tag_of(node: Java) -> Java | None:
    return next((one for one in each(node.output()) if str(one.name()) == TAG), None)


def _event_time(operator: Java, rows: Java, shape: StateShape) -> Java | None:
    """Return the expression that late rows are judged by; None when none is late."""
    if shape.event_time is None:
        return None
    if isinstance(shape, Deduplication):
        return list(each(rows.output()))[shape.event_time]
    expression = list(each(operator.groupingExpressions()))[shape.event_time]
    return expression.child() if kind_of(expression) == "Alias" else expression


class _Rewriting:
    """Builds plans in the JVM."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._jvm = jvm_of(spark)
        self._plans = self._jvm.org.apache.spark.sql.catalyst.plans.logical
        self._expressions = self._jvm.org.apache.spark.sql.catalyst.expressions

    def carry(self, node: Java) -> tuple[Java, Java | None] | NotDecided:
        """Return a plan that also gives the column `TAG`, and that column; None without one."""
        tag = _tag_of(node)
        if tag is not None:
            return node, tag
        children: list[Java] = []
        tags: list[Java | None] = []
        for child in each(node.children()):
            carried = self.carry(child)
            if isinstance(carried, NotDecided):
                return carried
            children.append(carried[0])
            tags.append(carried[1])
        if all(one is None for one in tags):
            return node, None
        return self._with_tag(node, children, tags)

    def _with_tag(
        self, node: Java, children: list[Java], tags: list[Java | None]
    ) -> tuple[Java, Java | None] | NotDecided:
        kind = kind_of(node)
        (tag, *others) = [one for one in tags if one is not None]
        if kind == "Project":
            columns = [*each(node.projectList()), tag]
            return self._plans.Project(self._seq(columns), children[0]), tag
        if kind == "Expand":
            projections = [self._seq([*each(one), tag]) for one in each(node.projections())]
            output = self._seq([*each(node.output()), tag])
            return self._plans.Expand(self._seq(projections), output, children[0]), tag
        if kind == "Union" and len(others) == len(children) - 1:
            ordered = [
                self._plans.Project(self._seq([*each(before.output()), one]), child)
                for before, child, one in zip(each(node.children()), children, tags, strict=True)
            ]
            return node.withNewChildren(self._seq(ordered)), tag
        if kind in _PASSING and not others:
            return node.withNewChildren(self._seq(children)), tag
        return NotDecided(f"it keeps state, and its rows go through {kind} first")

    def moment(self, time: Java) -> Java | None:
        """Return what is held against a watermark: a time, or the end of a window."""
        kind = str(time.dataType().typeName())
        if kind == "struct":
            time = self._expressions.GetStructField(time, 1, self._jvm.scala.Option.empty())
            kind = str(time.dataType().typeName())
        return time if kind == "timestamp" else None

    def is_late(self, moment: Java, tag: Java) -> Java:
        """Return Spark's own condition: up to the watermark."""
        return self._expressions.LessThanOrEqual(moment, tag)

    def is_on_time(self, moment: Java, tag: Java) -> Java:
        """Return the condition of a row that Spark keeps: later, or without a time."""
        later = self._expressions.GreaterThan(moment, tag)
        return self._expressions.Or(self._expressions.IsNull(moment), later)

    def until(self, moment: Java, time_ms: int) -> Java:
        """Return the condition of what is not later than a time."""
        kind = moment.dataType()
        micros = self._jvm.java.lang.Long.valueOf(time_ms * 1000)
        return self._expressions.LessThanOrEqual(moment, self._expressions.Literal(micros, kind))

    def filtered(self, plan: Java, condition: Java) -> Java:
        """Return the rows of a plan that meet a condition."""
        return self._plans.Filter(condition, plan)

    def otherwise(self, condition: Java) -> Java:
        """Return the condition of all rows that do not meet another one."""
        true = self._expressions.Literal.TrueLiteral()
        return self._expressions.Not(self._expressions.EqualNullSafe(condition, true))

    def given(self, df: DataFrame, operator: Java, rows: Java) -> DataFrame:
        """Return what a query gives if other rows go into its operator with state.

        A deduplication gives all of them: each may be the one that is kept.
        """
        is_aggregate = kind_of(operator) == "Aggregate"
        new = operator.withNewChildren(self._seq([rows])) if is_aggregate else rows
        plan = self.replaced(analysed(df), operator, new)
        return self.frame(plan).select(*(quoted(name) for name in df.columns))

    def replaced(self, node: Java, old: Java, new: Java) -> Java:
        """Return a plan with another node in the place of one."""
        if node.equals(old):
            return new
        children = [self.replaced(child, old, new) for child in each(node.children())]
        return node.withNewChildren(self._seq(children)) if children else node

    def frame(self, plan: Java) -> DataFrame:
        """Return a DataFrame of a plan."""
        from pyspark.sql import DataFrame

        sql = self._jvm.org.apache.spark.sql
        made = None
        for home in (sql.classic.Dataset, sql.Dataset):  # from Spark 4.0 on, and before
            if hasattr(home, "ofRows"):
                made = home.ofRows(self._spark._jsparkSession, plan)
                break
        return DataFrame(made, self._spark)

    def numbered(self, plan: Java) -> DataFrame:
        """Return a DataFrame of a plan whose columns have numbers: names can be there twice."""
        count = plan.output().size()
        return self.frame(plan).toDF(*(f"c{at}" for at in range(int(count))))

    def _seq(self, values: Sequence[object]) -> Java:
        made = self._jvm.java.util.ArrayList()
        for value in values:
            made.add(value)
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(made)

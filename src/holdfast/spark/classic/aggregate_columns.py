"""How the columns of a query come from its aggregation, and whether rows alone decide them."""

from __future__ import annotations

from holdfast.spark.classic.jvm import Java
from holdfast.spark.classic.plan import each, kind_of, walk
from holdfast.spark.plans import Made, NotDecided

_EXACT = frozenset(
    (
        *("BitAndAgg", "BitOrAgg", "BitXorAgg", "BoolAnd", "BoolOr", "Count", "CountIf"),
        *("HyperLogLogPlusPlus", "Max", "Min", "Sum"),
    )
)
"""Their result is the same for every order of the rows, but for sums of floats."""
_ROUNDED = frozenset(
    (
        *("CentralMomentAgg", "Corr", "CovPopulation", "CovSample", "Kurtosis"),
        *("Skewness", "StddevPop", "StddevSamp", "VariancePop", "VarianceSamp"),
    )
)
"""Their result depends on the order of the rows in its last digits."""
_FLOATS = ("float", "double")


def made_as(expression: Java) -> Made | NotDecided:
    """Return how a column of an aggregation comes about."""
    found = Made.KEY
    functions = [one for one in walk(expression) if kind_of(one) == "AggregateExpression"]
    for one in functions:
        function = one.aggregateFunction()
        kind, is_float = kind_of(function), _reads_float(function)
        if _is_rounded(function, kind):
            return Made.ROUNDED
        if kind not in _EXACT and kind != "Average":
            return NotDecided(
                f"it keeps state: an aggregation with {function.prettyName()}, whose result "
                "depends on the order of rows"
            )
        found = Made.ZERO if kind in ("Min", "Max") and is_float else Made.VALUE
    if len(functions) == 1 and kind_of(functions[0].aggregateFunction()) == "Count":
        is_alone = kind_of(expression) == "Alias" and expression.child().equals(functions[0])
        counted = functions[0].aggregateFunction().children()
        is_every = all(not one.nullable() for one in each(counted))
        return Made.COUNT if is_alone and is_every else Made.VALUE
    return found


def _is_rounded(function: Java, kind: str) -> bool:
    """Return whether the last digits of a function depend on the order of rows."""
    if kind == "Average":  # the sum of integers is a double too
        return "decimal" not in str(function.children().head().dataType().simpleString())
    return kind in _ROUNDED or (kind == "Sum" and _reads_float(function))


def _reads_float(function: Java) -> bool:
    types = (str(one.dataType().simpleString()) for one in each(function.children()))
    return any(name in kind for kind in types for name in _FLOATS)


def made_above(
    nodes: list[Java], made: dict[int, Made], output_mode: str
) -> dict[int, Made] | NotDecided:
    """Return how columns come about above the operator, through nodes that take rows alone."""
    order = list(Made)
    for node in reversed(nodes):
        kind = kind_of(node)
        if kind == "Project":
            made = {
                **made,
                **{
                    id_of(one): max((made.get(ref, Made.VALUE) for ref in refs), key=order.index)
                    for one in each(node.projectList())
                    if (refs := _references(one)) and id_of(one) not in made
                },
                **{
                    id_of(one): Made.KEY
                    for one in each(node.projectList())
                    if not _references(one) and id_of(one) not in made
                },
            }
            made = _without_computed_counts(node, made)
        elif kind == "Filter":
            used = {made.get(ref, Made.VALUE) for ref in _references(node.condition())}
            if output_mode != "append" and used - {Made.KEY}:
                return NotDecided(
                    "it keeps state: an aggregation with a filter on its result, and a row that "
                    "was once let through stays in the table"
                )
            if Made.ROUNDED in used:
                return NotDecided(
                    "it keeps state: an aggregation with a filter on a result whose last digits "
                    "depend on the order of rows"
                )
    return made


def _without_computed_counts(node: Java, made: dict[int, Made]) -> dict[int, Made]:
    """Return what a projection makes; what is computed from a count does not grow for certain."""
    computed = {
        id_of(one)
        for one in each(node.projectList())
        if kind_of(one) == "Alias" and kind_of(one.child()) != "AttributeReference"
    }
    return {
        of: Made.VALUE if how is Made.COUNT and of in computed else how for of, how in made.items()
    }


def _references(expression: Java) -> list[int]:
    return [id_of(one) for one in each(expression.references().toSeq())]


def id_of(expression: Java) -> int:
    """Return Spark's id of a column."""
    return int(expression.exprId().id())

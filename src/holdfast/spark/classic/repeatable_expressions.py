"""The expressions that are proven to depend on their inputs alone.

The list was checked against the source of Spark 4.0.0 and 4.2.0. Left out on purpose, because the
result depends on something else than the inputs:

- the session time zone: timestamps to and from text and dates, `date_format`, `from_unixtime`
- the locale of the JVM: `upper`, `lower`, `initcap` of text that is not ASCII
- the version of Java: a `double` as text or as a decimal, `round`, `pow`, `exp`
- ANSI mode, other than by an error: `size`, a decimal as text, an empty `IN ()`, implicit
  conversions between text and numbers
- another setting that is not a legacy one: arithmetic on decimals
- the clock, the session, chance, the split of a file, a subquery, and every function of the user

ANSI mode also decides whether an overflow or a failed cast is an error. That is harmless: where it
is an error nothing is written, and where it is not the result is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.spark.classic.jvm import Java, jvm_of
from holdfast.spark.classic.plan import each

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = "org.apache.spark.sql.catalyst.expressions."

INTEGRAL = ("byte", "short", "integer", "long")
"""From the narrowest to the widest."""
_NUMBERS = frozenset((*INTEGRAL, "float", "double"))
PLAIN = _NUMBERS | {"decimal", "string", "binary", "boolean"}
"""Types that parsers of JSON and CSV read without a time zone."""

_INPUTS_ALONE = {
    "columns": ("AttributeReference", "Alias"),
    "logic": ("And", "Or", "Not", "If", "CaseWhen"),
    "comparisons": (
        *("EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual"),
        *("GreaterThan", "GreaterThanOrEqual", "Greatest", "Least"),
        *("Between", "With", "CommonExpressionDef", "CommonExpressionRef"),
    ),
    "missing values": (
        *("IsNull", "IsNotNull", "IsNaN", "AtLeastNNonNulls"),
        *("Coalesce", "NaNvl", "Nvl", "Nvl2"),
    ),
    "text": (
        *("Concat", "ConcatWs", "Contains", "StartsWith", "EndsWith", "Like", "RLike", "Length"),
        *("Left", "Right", "Substring", "StringTrim", "StringTrimLeft", "StringTrimRight"),
        *("StringLPad", "StringRPad", "StringReplace", "StringSplit"),
        *("RegExpExtract", "RegExpReplace", "GetJsonObject"),
    ),
    "structs, arrays and maps": (
        *("CreateArray", "CreateNamedStruct", "GetStructField", "GetArrayItem"),
        *("GetArrayStructFields", "GetMapValue", "ElementAt", "Explode", "PosExplode", "Inline"),
    ),
    "digests": ("Md5", "Sha1", "Sha2", "Crc32"),
    "timestamps as numbers": (
        *("UnixSeconds", "UnixMillis", "UnixMicros"),
        *("SecondsToTimestamp", "MillisToTimestamp", "MicrosToTimestamp"),
    ),
}
_EXPRESSIONS = frozenset(name for names in _INPUTS_ALONE.values() for name in names)
_ARITHMETIC = frozenset(
    (
        *("Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod"),
        *("UnaryMinus", "Abs"),
    )
)
_LITERALS = PLAIN | {"void", "date"}
"""A literal timestamp was read in the session's time zone, or in that of the Python process."""

_CASTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(INTEGRAL, _NUMBERS | {"decimal", "string", "boolean", "timestamp"}),
    **dict.fromkeys(("float", "double"), _NUMBERS | {"boolean"}),
    "decimal": frozenset({"decimal", "float", "double", "boolean"}),
    "string": PLAIN | {"date"},
    "binary": frozenset({"string"}),
    "boolean": _NUMBERS | {"string"},
    "date": frozenset({"string"}),
    "timestamp": frozenset({"long"}),
}
"""Casts that the user wrote. ANSI mode truncates a large decimal to an integer in another way."""
_IMPLICIT_CASTS: dict[str, frozenset[str]] = {
    **{kind: frozenset({*INTEGRAL[at:], "double", "decimal"}) for at, kind in enumerate(INTEGRAL)},
    "decimal": frozenset({"decimal", "double"}),
    "string": frozenset({"binary"}),
}
"""Casts that Spark added. ANSI mode adds others than these, and then the query is another one."""


class ProvenExpressions(msgspec.Struct, frozen=True):
    """The expressions that are on the list."""

    user_cast: Java
    """Spark's tag on a cast that the user wrote, as opposed to one that Spark added."""

    @classmethod
    def of(cls, spark: SparkSession) -> ProvenExpressions:
        """Return them for a session."""
        expressions = jvm_of(spark).org.apache.spark.sql.catalyst.expressions
        return cls(expressions.Cast.USER_SPECIFIED_CAST())

    def has(self, expression: Java) -> bool:
        """Return whether an expression is on the list, with all that is in it."""
        children = list(each(expression.children()))
        return self._has_node(expression, children) and all(map(self.has, children))

    def _has_node(self, expression: Java, children: list[Java]) -> bool:
        name = str(expression.getClass().getName())
        kind = name.removeprefix(_PACKAGE) if name.startswith(_PACKAGE) else ""
        match kind:
            case "Cast":
                is_proven = self._has_cast(expression)
            case "Literal":
                is_proven = type_of(expression) in _LITERALS
            case "In":
                is_proven = len(children) > 1
            case "JsonToStructs":
                is_proven = types_in(expression.schema()) <= PLAIN
            case _ if kind in _ARITHMETIC:
                is_proven = all(type_of(child) in _NUMBERS for child in children)
            case _:
                is_proven = kind in _EXPRESSIONS
        return is_proven

    def _has_cast(self, cast: Java) -> bool:
        before, after = type_of(cast.child()), type_of(cast)
        if before == "void" or cast.child().dataType().equals(cast.dataType()):
            return True
        is_users = cast.getTagValue(self.user_cast).isDefined()
        allowed = _CASTS if is_users else _IMPLICIT_CASTS
        return after in allowed.get(before, ())


def type_of(expression: Java) -> str:
    """Return the type of an expression, without its precision: `long`, `decimal`, `array`."""
    return _without_precision(str(expression.dataType().typeName()))


def types_in(data_type: Java) -> set[str]:
    """Return the types of the values in a type: of fields, elements, keys."""
    return set(_leaves(json.loads(str(data_type.json()))))


def _leaves(described: str | dict[str, Any]) -> Iterator[str]:
    if isinstance(described, str):
        yield _without_precision(described)
    elif described["type"] == "struct":
        for field in described["fields"]:
            yield from _leaves(field["type"])
    else:
        inside = [described.get(name) for name in ("elementType", "keyType", "valueType")]
        found = [each for each in inside if each is not None]
        yield from (leaf for each in found for leaf in _leaves(each))
        if not found:  # a type of the user
            yield str(described["type"])


def _without_precision(name: str) -> str:
    return name.partition("(")[0]

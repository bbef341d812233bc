"""What of a stream can be read again as a batch job, as far as a client of Spark Connect knows it.

A source is known by the number that the client has given to the DataFrame that reads it. What the
query computes is in the plan that the server has analysed, as text: where every function in it is
one that always gives the same, so does the query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.redact import redact
from holdfast.spark.connect.plan_text import SOURCES, Node, analysed_text, parse_plan
from holdfast.spark.connect.reads import streaming_relations
from holdfast.spark.connect.refusals import refuse
from holdfast.spark.connect.untyped import untyped
from holdfast.spark.plans import NotDecided, SourceNode, StateShape, StaticSide

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CONSTANT = ("OneRowRelation", "Range")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
_PYTHON = re.compile(r"\)#\d+")
"""What follows the arguments of a function in Python."""
_NAMES = """
abs array base64 bigint binary boolean cast ceil coalesce concat concat_ws date date_add
date_format date_sub date_trunc datediff day dayofmonth decimal decode element_at encode endswith
floor format_number from_json get_json_object greatest hash hex hour if initcap isnan isnotnull
isnull least left length locate lower lpad ltrim md5 minute month named_struct nullif pmod
regexp_extract regexp_replace reverse right round rpad rtrim second sha sha1 sha2 size split
split_part startswith struct substr substring to_date to_json to_timestamp translate trim trunc
try_cast unbase64 unhex unix_micros unix_millis upper xxhash64 year
Some StructField StructType decimal
"""
_SAME = frozenset(_NAMES.split())
"""Functions that always give the same for the same values, and what plans write like one."""
_NO_STATE = "Spark Connect does not tell by which keys, and from what, a query keeps its state"


def source_nodes(df: DataFrame) -> tuple[SourceNode, ...]:
    """Return the sources of a streaming DataFrame in the order of its offset log.

    Raises:
        UnsupportedSparkError: A view or a text of SQL names one, which only the server knows.
    """
    found = streaming_relations(df)
    if len(found) != sum(node.kind in SOURCES for node in _nodes(df)):
        refuse("reading a stream again that comes from a view or from SQL", "it hides the sources")
    return tuple(
        SourceNode(
            columns=frozenset((int(str(each.common.plan_id)),)),
            display_name=redact(
                f"{each.read.data_source.format}{list(each.read.data_source.paths)}"
            ),
        )
        for each in found
    )


def find_doubts(df: DataFrame) -> tuple[str, ...]:
    """Say why a batch job can give other rows than the stream gave; empty if nothing can."""
    text = analysed_text(_explained(df))
    unknown = dict.fromkeys(name for name in _CALL.findall(text) if name not in _SAME)
    if _PYTHON.search(text) or unknown:
        named = ", ".join(unknown) or "functions in Python"
        return (f"it uses {named}, of which it is not known whether it always gives the same",)
    return ()


def static_sides(df: DataFrame) -> tuple[StaticSide, ...]:
    """Return the data of a streaming query that is not a stream, leaf by leaf."""
    leaves = (node for node in _nodes(df) if not node.children and node.kind not in SOURCES)
    return tuple(
        StaticSide(display_name=f"a table ({each.kind})", is_constant=each.kind in _CONSTANT)
        for each in leaves
    )


def state_shape(df: DataFrame, *, output_mode: str) -> StateShape | NotDecided:
    """Say that it is not told."""
    del df, output_mode
    return NotDecided(_NO_STATE)


def _nodes(df: DataFrame) -> list[Node]:
    root = parse_plan(_explained(df))
    return [] if root is None else list(_walk(root))


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _explained(df: DataFrame) -> str:
    return str(untyped(df)._explain_string(extended=True))

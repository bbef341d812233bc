"""A plan as `explain` prints it over Spark Connect: the lines are those of Spark 4.2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.spark.connect.plan_text import (
    SOURCES,
    parse_plan,
    source_name,
    walk_streaming,
    watermark_of,
)

_FILES = "StreamingRelation FileSource[/lake/in], [id#1L, k#2, ts#3], name=<Unassigned>"
_RATE = (
    "~StreamingRelationV2 org.apache.spark.sql.execution.streaming.sources.RateStreamProvider"
    "@1aec0d1, rate, org.apache.spark.sql.execution.streaming.sources.RateStreamTable@713a6304, "
    "[rowsPerSecond=5], [timestamp#12, value#13L], name=<Unassigned>"
)
_OLDER = (
    "StreamingRelation DataSource(org.apache.spark.sql.classic.SparkSession@5d3f,json,List(),"
    "Some(StructType(StructField(id,LongType,true),StructField(k,StringType,true))),List(),None,"
    "Map(maxFilesPerTrigger -> 1, path -> /lake/in),None), {source}, [id#1L, k#2]"
)
_JOIN = f"""~Project [id#1L, k#2]
+- ~Join Inner, (id#1L = id#15L)
   :- ~SubqueryAlias a
   :  +- {_FILES}
   +- ~Deduplicate [value#13L]
      +- {_RATE}"""
_STATIC = f"""~Join Inner, (id#1L = id#9L)
:- {_FILES}
+- Aggregate [id#9L], [id#9L]
   +- Relation [id#9L] parquet"""
_WATERMARK = f"""~Aggregate [k#2], [k#2, count(1) AS n#6L]
+- ~EventTimeWatermark b67cea48-80fe-43af-9474-7cc2b67c88c7, ts#3: timestamp, 10 minutes
   +- {_FILES}"""


def explained(plan: str) -> str:
    return f"""== Parsed Logical Plan ==
'Aggregate ['k], ['k]
+- 'UnresolvedRelation [v], [], false

== Analyzed Logical Plan ==
id: bigint, k: string
{plan}

== Optimized Logical Plan ==
~Aggregate [k#2]

== Physical Plan ==
*(1) Project [id#1L]
"""


def kinds_of(plan: str) -> list[str]:
    return [node.kind for node in walk_streaming(parse_plan(explained(plan)))]


def test_the_nodes_are_those_of_the_analysed_plan_from_the_outermost_inwards() -> None:
    kinds = ["Project", "Join", "SubqueryAlias", "StreamingRelation", "Deduplicate"]
    assert kinds_of(_JOIN) == [*kinds, "StreamingRelationV2"]


def test_a_static_side_is_left_out() -> None:
    assert kinds_of(_STATIC) == ["Join", "StreamingRelation"]


def test_sources_have_the_names_that_spark_has_for_them() -> None:
    nodes = walk_streaming(parse_plan(explained(_JOIN)))
    assert [source_name(node) for node in nodes if node.kind in SOURCES] == [
        "FileSource[/lake/in]",
        "rate",
    ]


@pytest.mark.parametrize("source", ["FileSource[/lake/in]", "FileSource[/lake/[ab]]", "socket"])
def test_a_source_has_its_name_in_spark_before_4_2_too(source: str) -> None:
    (node,) = walk_streaming(parse_plan(explained(f"~{_OLDER.format(source=source)}")))
    assert source_name(node) == source


def test_a_watermark_is_its_column_and_its_delay() -> None:
    nodes = walk_streaming(parse_plan(explained(_WATERMARK)))
    (found,) = [watermark_of(node) for node in nodes if node.kind == "EventTimeWatermark"]
    assert found == "ts 10 minutes"


def test_a_text_with_a_line_break_adds_no_operator() -> None:
    assert kinds_of(f"~Filter (k#2 = a\nlower case of a text)\n+- {_FILES}") == [
        "Filter",
        "StreamingRelation",
    ]


@pytest.mark.parametrize("text", ["", "== Analyzed Logical Plan ==", explained("")])
def test_what_has_no_plan_has_none(text: str) -> None:
    assert parse_plan(text) is None


@given(st.text())
def test_nothing_raises_on_content(text: str) -> None:
    for node in walk_streaming(parse_plan(explained(text))):
        assert node.kind
        source_name(node)
        watermark_of(node)

"""What a printed plan says of state; a part of a plan is not taken for the whole."""

from __future__ import annotations

import time

import pytest

from holdfast.formats.event_log.plans import PlanParts, parse_parts
from holdfast.formats.event_log.read import read_event_log
from tests.event_logs import recorded

# Spark 4.2.1, `physicalPlanDescription` of one batch.
WINDOWS = """\
== Physical Plan ==
WriteToDataSourceV2 (5)
+- StateStoreSave (4)
   +- * HashAggregate (3)
      +- EventTimeWatermark (2)
         +- Scan json  (1)


(1) Scan json
Output [2]: [a#1727, x#1728L]

(2) EventTimeWatermark
Input [3]: [a#1727, x#1728L, t#1729]
Arguments: b9de368d-9f37-4a6b-aff9-9eb134912466, t#1729: timestamp, 10 minutes

(3) HashAggregate [codegen id : 3]
Input [4]: [window#345-T600000ms, a#1727, sum#1732L, max#1734L]
Keys [2]: [window#345-T600000ms, a#1727]
Functions [2]: [merge_sum(x#1728L), merge_max(x#1728L)]
Aggregate Attributes [2]: [sum(x#1728L)#341L, max(x#1728L)#342L]

(4) StateStoreSave
Input [4]: [window#345-T600000ms, a#1727, sum#1732L, max#1734L]
Arguments: [a#1727], state info [ checkpoint = file:/c/state, runId = r, opId = 0], Append, 0

(5) WriteToDataSourceV2
Arguments: MicroBatchWrite[epoch: 0, writer: NoopStreamingWrite]
"""
JOIN = """\
(8) EventTimeWatermark
Arguments: t#1752: timestamp, 2 minutes

(11) StreamingSymmetricHashJoin
Left output [3]: [a#1753, x#1754L, t#1755-T60000ms]
Arguments: [a#1753, t#1755-T60000ms], [a#1750, t#1752-T120000ms], Inner, condition = [ leftOnly = \
null ], state info [ checkpoint = file:/c/state, runId = r, opId = 0, ver = 0, numPartitions = 2], 0
"""


def test_functions_keys_of_joins_and_watermarks_are_read_without_the_numbers_of_columns() -> None:
    assert parse_parts(WINDOWS) == PlanParts(
        parts={0: "[merge_sum(x), merge_max(x)]"}, watermarks=("t 10 minutes",)
    )
    joined = PlanParts(parts={0: "[a, t], [a, t]"}, watermarks=("t 2 minutes",))
    assert parse_parts(JOIN) == joined


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*(1) HashAggregate(keys=[a#1], functions=[sum(x#2)])",
        WINDOWS.replace("merge_max(x#1728L)]", "... 24 more fields]"),
    ],
    ids=["nothing", "another form", "fields left out"],
)
def test_a_plan_that_is_not_told_whole_tells_nothing(text: str) -> None:
    assert parse_parts(text) is None


def test_an_operator_whose_functions_are_not_there_is_left_out() -> None:
    found = parse_parts(WINDOWS.replace("Functions [2]", "Other [2]"))
    assert found is not None
    assert found.parts == {}


def test_a_hostile_plan_takes_no_time() -> None:
    began = time.process_time()
    for text in ("(1) a\n\n" * 50_000, "(" * 1_000_000, "... 1 more" * 100_000, "\n" * 1_000_000):
        parse_parts(text)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("name", ["3.5-stateful", "4.2-stateful"])
def test_the_logs_of_real_spark_have_the_functions(name: str) -> None:
    log = recorded(name)
    run = read_event_log(str(log.events), query_id=log.query_id).newest
    assert run is not None
    assert run.plan == PlanParts(parts={0: "[merge_count(1)]"})
    assert run.has_session_settings

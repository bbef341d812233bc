"""A reset is offered as a command only where a plan can settle the output."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from holdfast.evidence.case import Case
from holdfast.evidence.guard_record import GuardRecord
from holdfast.evidence.query_to_start import QueryToStart
from holdfast.record.contracts import Contract, SinkContract
from holdfast.rules.commands import reset_advice
from holdfast.spark_versions import KNOWN
from holdfast.testing.case_form import RuleCase
from holdfast.testing.rule_cases import make_case

CASE = make_case(RuleCase(name="a stream that has run", planned=1, committed=1, finds=()))
WITH_LEDGER = Contract(
    sources=("kafka readings",),
    sinks=("readings",),
    output_mode="append",
    operators=(),
    state_provider="",
    sink_places=(SinkContract(kind="delta", place="/srv/readings", label="readings"),),
)
FUNCTION_TOO = msgspec.structs.replace(WITH_LEDGER, sinks=("readings", "send"))


def diagnosed(contract: Contract) -> Case:
    assert CASE.stream is not None
    record = GuardRecord(
        stream=CASE.stream.stream,
        generation=CASE.stream.generation,
        newest_generation=1,
        lease=None,
        renewed=None,
        run=None,
        contract=contract,
    )
    return replace(CASE, record=record)


def started(contract: Contract) -> Case:
    query = QueryToStart(now=WITH_LEDGER, before=contract, spark=KNOWN[-1])
    return replace(CASE, query=query)


@pytest.mark.parametrize("known", [diagnosed, started])
def test_a_sink_without_a_ledger_is_reset_by_hand(known: Callable[[Contract], Case]) -> None:
    assert "`holdfast plan reset readings --root " in reset_advice(known(WITH_LEDGER))
    by_hand = reset_advice(known(FUNCTION_TOO))
    assert "holdfast plan" not in by_hand
    assert "by hand" in by_hand
    assert "send" in by_hand


def test_what_is_not_known_is_left_to_the_plan() -> None:
    assert "`holdfast plan reset" in reset_advice(CASE)

"""What a stream is given as sinks, and the one that is a function of the user's."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from holdfast.ledger import Apply
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.foreach_batch import ForeachBatch
from holdfast.sinks.given import as_sinks
from holdfast.sinks.postgres.sink import Postgres
from holdfast.sinks.sink import SinkSpec
from tests.stand_ins import stand_in
from tests.unit.sinks.delta_commits import attempt


def keep(batch: Any, number: int) -> None:
    batch.append(number)


def called(function: Any) -> Any:
    return ForeachBatch(function).writer_for(
        stand_in(None), stream="readings", output_mode="complete"
    )


def test_one_sink_or_several_in_their_order() -> None:
    first, second = Delta(path="a"), Delta(path="b")
    assert as_sinks(first) == (first,)
    assert as_sinks([second, first]) == (second, first)


def test_a_function_has_no_ledger_and_the_others_do() -> None:
    function: SinkSpec = ForeachBatch(keep)
    assert function.open_ledger() is None
    for sink in (Delta(path="a"), Postgres("env:DSN", table="t")):
        assert sink.open_ledger() is not None


def test_a_function_is_called_with_the_batch_and_its_number() -> None:
    sink, batch = called(keep), list[int]()
    assert sink.write(attempt(7), batch, before_commit=lambda _: None) == Apply()
    assert batch == [7]


def test_what_a_function_raises_is_raised() -> None:
    sink = called(lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        sink.write(attempt(0), None, before_commit=lambda _: None)


def test_a_function_is_known_by_its_name() -> None:
    assert ForeachBatch(keep).label == "keep"
    assert ForeachBatch(keep, name="mine").label == "mine"
    assert ForeachBatch(partial(keep)).label == "function"
    assert ForeachBatch(keep).place == "function:keep"
    assert ForeachBatch(keep).display_name == "the function keep"
    assert not ForeachBatch(keep).is_appending

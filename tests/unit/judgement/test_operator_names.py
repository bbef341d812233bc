"""Spark 3.5 writes no names of stateful operators: the event log has them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from holdfast.formats.event_log.history import EventLogHistory
from holdfast.judgement.facts import _operator_names
from tests.stand_ins import stand_in

LOGGED = ("dedupe", "stateStoreSave")


def history(operators: tuple[str, ...] | None) -> EventLogHistory:
    """Return a history of one run."""
    run = SimpleNamespace(operators=operators, application="app-1")
    return EventLogHistory(location="", query_id=None, runs=(stand_in(run),))


@pytest.mark.parametrize(
    ("in_state", "logged", "names"),
    [
        ((None, None), LOGGED, [*LOGGED]),
        (("a", "b"), LOGGED, ["a", "b"]),  # the checkpoint itself says it
        ((None,), LOGGED, ["unnamed"]),  # another query than now
        ((None, None), None, ["unnamed", "unnamed"]),
    ],
)
def test_the_event_log_names_what_the_checkpoint_does_not(
    in_state: tuple[str | None, ...], logged: tuple[str, ...] | None, names: list[str]
) -> None:
    state = tuple(SimpleNamespace(name=each) for each in in_state)
    checkpoint = SimpleNamespace(state=state)
    case = SimpleNamespace(checkpoint=checkpoint, event_log=history(logged))
    found, where = _operator_names(stand_in(case))
    assert found == names
    assert where == ("state/; event log, app-1" if found == [*LOGGED] else "state/")

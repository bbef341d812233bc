"""Triggers that a guarded stream takes."""

from __future__ import annotations

import pytest

from holdfast.errors import ConfigError
from holdfast.streams.resolve import check_trigger, refuse_continuous


@pytest.mark.parametrize(
    "trigger",
    [None, {"processingTime": "1 second"}, {"availableNow": True}, {"once": True}],
)
def test_triggers_of_micro_batches_are_taken(trigger: object) -> None:
    check_trigger(trigger)
    refuse_continuous(str(trigger))


@pytest.mark.parametrize(
    "trigger", ["ContinuousTrigger(1000)", "continuous_checkpoint_interval", "continuous"]
)
def test_a_continuous_trigger_is_refused_by_name_however_it_is_written(trigger: str) -> None:
    """As classic Spark prints it, as Spark Connect names it, and as `trigger()` takes it."""
    with pytest.raises(ConfigError, match=r"no continuous trigger, with hf\.Native neither"):
        refuse_continuous(trigger)


def test_a_continuous_trigger_is_told_from_one_that_does_not_exist() -> None:
    with pytest.raises(ConfigError, match="has no micro-batches"):
        check_trigger({"continuous": "1 second"})
    with pytest.raises(ConfigError, match="is not a trigger"):
        check_trigger({"continues": "1 second"})

"""Which staged tables can never be committed any more."""

from __future__ import annotations

import pytest

from holdfast.sinks.postgres.parts import is_dead, stage_prefix


@pytest.mark.parametrize(
    ("epoch", "batch", "dead"),
    [(2, 9, True), (3, 4, True), (3, 5, True), (3, 6, False), (4, 0, False)],
)
def test_only_older_epochs_and_batches_that_have_arrived_are_dead(
    epoch: int, batch: int, dead: bool
) -> None:
    name = f"{stage_prefix('readings', 'readings')}_{epoch}_{batch}_0_17"
    assert is_dead(name, epoch=3, batch=5) is dead


def test_names_of_two_streams_differ_and_fit() -> None:
    assert stage_prefix("a", "b") != stage_prefix("a/b", "")
    assert len(f"{stage_prefix('a' * 63, 'b' * 200)}_2097151_999999999999_99999_9999999") <= 63

"""Judges sinks by the checks of the drills, where no whole drill is run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.drills.drill import Recording, Sinks
from holdfast.drills.history import Ended, now
from holdfast.drills.verdict import Checked

OF_ROWS = (
    "nothing-lost",
    "nothing-duplicated",
    "nothing-unexpected",
    "complete-batches",
    "in-order",
)
"""The checks that hold at any moment; at the end all of the source must be there too."""
AT_THE_END = (*OF_ROWS, "goes-on")


def judge(sinks: Sinks, *, checks: Iterable[str] = AT_THE_END) -> None:
    """Look at the sinks once.

    Raises:
        AssertionError: Rows are lost, duplicated or not whole batches, or some are still missing.
    """
    with recorded(sinks) as recording:
        recording.look()
        assert_passed(each for each in recording.check() if each.check in checks)


@contextmanager
def recorded(sinks: Sinks) -> Iterator[Recording]:
    """Give a recording whose history goes with the end of the block."""
    with tempfile.TemporaryDirectory() as directory:
        yield Recording(sinks, Path(directory))


def assert_passed(checked: Iterable[Checked]) -> None:
    """Fail unless every check has passed.

    Raises:
        AssertionError: One has not.
    """
    wrong = [
        f"{each.verdict.name} {each.check}: {each.told}" for each in checked if each.verdict.is_bad
    ]
    assert not wrong, "; ".join(wrong)


def end_session(recording: Recording, error: str = "") -> None:
    """Write down that a query of this process ended, by an error or well; then look."""
    ended = Ended(
        at=now(),
        run=recording.run_number,
        how="an error of the query" if error else "no error",
        is_killed=False,
        is_well=not error,
        cpu_seconds=0,
        error=error,
    )
    recording.history.append(ended)
    recording.look()

"""A pytest fixture that kills a stream in every phase of a micro-batch.

def test_my_stream_survives_restarts(holdfast_drill):
    holdfast_drill(start_stream, sample="tests/sample").assert_exact()
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.named import name_of

if TYPE_CHECKING:
    from holdfast.drills.drill import Drilled
    from holdfast.drills.phases import Phase

EVERY_PHASE = "every-phase"
Build = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the kills did to a stream."""

    drilled: Sequence[Drilled]
    timelines: Path

    def assert_exact(self) -> None:
        """Fail the test unless every restart ended with the rows of an undisturbed run.

        A kill that did not fire fails it too: nothing was shown.
        """
        __tracebackhide__ = True
        bad = [each for each in self.drilled if each.verdict]
        if bad or not self.drilled:
            told = [
                f"  {each.name}: {check.verdict.name} {check.check}: {check.told}"
                for each in bad
                for check in each.checked
                if check.verdict
            ]
            pytest.fail("\n".join(["A restart is not exact.", *told, f"See {self.timelines}"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamDrill:
    """Drills a stream: called with the function that starts it."""

    directory: Path

    def __call__(
        self,
        build: Build,
        *,
        sample: str | Path | None = None,
        kill_at: str | Sequence[str] = EVERY_PHASE,
        read: Build | None = None,
        checkpoint: str | Path | None = None,
    ) -> Outcome:
        """Run a stream undisturbed, then kill it, restart it, and compare what it wrote.

        Args:
            build: Starts the stream, given a session and a scratch place; at the top of its module.
            sample: A directory of files that stand for the source, one per batch.
            kill_at: Phases, or points of its own (`before-send:COMMIT:3`), in the order of their
                kills; by default every phase that the stream comes by.
            read: Returns what is in the sink, given the same; by default what is in `scratch.sink`.
            checkpoint: Where every run begins from: a copy of it is made, it is only read.
        """
        from holdfast.drills.drill import Drilled  # noqa: PLC0415 - most tests need none of it
        from holdfast.drills.summary import write_summary  # noqa: PLC0415
        from holdfast.drills.user_stream import Target, drill_user_stream  # noqa: PLC0415

        # A test may drill more than once: each in a directory of its own.
        directory = Path(tempfile.mkdtemp(dir=self.directory, prefix="drill-"))
        target = Target(
            start=name_of(build),
            sample=None if sample is None else Path(sample).resolve(),
            read=None if read is None else name_of(read),
            checkpoint=None if checkpoint is None else str(checkpoint),
        )
        only, also = _chosen((kill_at,) if isinstance(kill_at, str) else kill_at)
        steps = drill_user_stream(target, directory=directory, only=only, also=also)
        drilled = [each for each in steps if isinstance(each, Drilled)]
        page = write_summary(target.start, drilled, directory=directory)
        return Outcome(drilled=drilled, timelines=page)


def _chosen(kill_at: Sequence[str]) -> tuple[list[str], list[Phase]]:
    """Return the names of the phases that are meant, and the one of the points, if any are given.

    A point has a colon, the name of a phase has none.
    """
    from holdfast.drills.phases import asked_phase  # noqa: PLC0415

    points = [each for each in kill_at if ":" in each]
    also = [asked_phase(points)] if points else []
    names = [each for each in kill_at if ":" not in each] + [phase.name for phase in also]
    return ([] if EVERY_PHASE in names else names), also


@pytest.fixture
def holdfast_drill(tmp_path: Path) -> StreamDrill:
    """Return what drills a stream; see `StreamDrill`."""
    return StreamDrill(directory=tmp_path)

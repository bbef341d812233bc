"""A pytest fixture that kills a stream in every phase of a micro-batch.

def test_my_stream_survives_restarts(holdfast_drill):
    holdfast_drill(start_stream, sample="tests/sample").assert_exact()
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from holdfast.clock import now
from holdfast.drills.limits import SECONDS
from holdfast.named import name_of

if TYPE_CHECKING:
    from holdfast.drills.drill import Drilled
    from holdfast.drills.phases import Phase

EVERY_PHASE = "every-phase"
Build = Callable[..., Any]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the kills did to a stream."""

    drilled: Sequence[Drilled]
    timelines: Path

    def assert_exact(self) -> None:
        """Fail the test unless every restart ended with the rows of an undisturbed run.

        A kill that did not happen fails it too: the drill is inconclusive.
        """
        __tracebackhide__ = True
        bad = [each for each in self.drilled if each.verdict.is_bad]
        if bad or not self.drilled:
            told = [
                f"  {each.name}: {check.verdict.name} {check.check}: {check.told}"
                for each in bad
                for check in each.checked
                if check.verdict.is_bad
            ]
            pytest.fail("\n".join(["A restart is not exact.", *told, f"See {self.timelines}"]))


class StreamDrill(msgspec.Struct, frozen=True, kw_only=True):
    """Drills a stream: called with the function that starts it."""

    directory: Path

    def __call__(  # noqa: PLR0913 - what is drilled and how, each by name
        self,
        build: Build,
        *,
        sample: str | Path | None = None,
        kill_at: str | Sequence[str] = EVERY_PHASE,
        read: Build | None = None,
        checkpoint: str | Path | None = None,
        timeout: float = SECONDS,
    ) -> Outcome:
        """Run a stream undisturbed, then kill it, restart it, and compare what it wrote.

        Args:
            build: Starts the stream, given a session and a scratch place; at the top of its module.
            sample: A directory of files that replace the source, one per batch.
            kill_at: Phases, or points of your own (`before-send:COMMIT:3`), in the order of their
                kills; by default every phase that the stream reaches.
            read: Returns what is in the sink, given the same; by default what is in `scratch.sink`.
            checkpoint: A checkpoint that every run starts from a copy of; it is only read.
            timeout: Seconds after which a driver that has not ended is stopped.
        """
        from holdfast.drills.summary import About, write_summary  # noqa: PLC0415 - few tests drill
        from holdfast.drills.user_stream import Target, drill_user_stream  # noqa: PLC0415

        # A test may drill more than once: each in a directory of its own.
        directory = Path(tempfile.mkdtemp(dir=self.directory, prefix="drill-"))
        target = Target(
            start=name_of(build),
            sample=None if sample is None else Path(sample).resolve(),
            read=None if read is None else name_of(read),
            checkpoint=None if checkpoint is None else str(checkpoint),
            seconds=timeout,
        )
        only, also = _chosen((kill_at,) if isinstance(kill_at, str) else kill_at)
        drilled = list(drill_user_stream(target, directory=directory, only=only, also=also))
        command = f"pytest, holdfast_drill({target.start})"
        about = About(target=target.start, began=now().astimezone(), command=command)
        page = write_summary(about, drilled, directory=directory)
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

"""The log at DEBUG shows a start and a batch step by step, as the guide prints it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.file_stream import Stream

GUIDE = Path(__file__).parents[2] / "docs/guides/logging-and-monitoring.md"
BY_CHANCE = ("LeaseRenewed", "StartTakesTime", "StartIsSlow", "Warned")
"""Of a slow machine, and of a test in a temporary directory."""


@pytest.fixture(autouse=True)
def level_as_before() -> Iterator[None]:
    logger = logging.getLogger("holdfast")
    level = logger.level
    yield
    logger.setLevel(level)


def section() -> str:
    return GUIDE.read_text().partition("## Step by step\n")[2].partition("\n## ")[0]


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", section(), re.DOTALL)
    assert found is not None
    return found[1]


def without_chance(line: str, root: str = "/srv/streams") -> str:
    """Return a line without what differs from run to run."""
    line = line.replace(root, "/srv/streams")
    line = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", line)
    line = re.sub(r"(leased to|owner) [^;]+", r"\1 OWNER", line)
    return re.sub(r"\([0-9.]+ s\)", "(SECONDS)", line)


def test_the_log_at_debug_shows_a_start_step_by_step(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    for extra in sorted(stream.files.iterdir())[1:]:
        extra.unlink()  # one batch
    exec(block("python"), {})
    stream.run()
    said = [
        without_chance(str(event), str(stream.root))
        for record in caplog.records
        if (event := getattr(record, "holdfast", None)) is not None
        if type(event).__name__ not in BY_CHANCE
    ]
    shown = [without_chance(line.removeprefix("holdfast: ")) for line in block("text").splitlines()]
    assert " G6: " in "".join(said)
    # From G6 on Spark runs in parallel.
    assert [line for line in said if " G6: " not in line] == [
        line for line in shown if " G6: " not in line
    ]

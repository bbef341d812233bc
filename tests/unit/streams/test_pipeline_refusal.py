"""What a pipeline says when streams of it did not start: how many, why, and what to do, once."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.streams.pipeline import PipelineStartError

REASON = ValueError("first line\n    holdfast accept gold HF604:7c1f --root /srv/streams")


def refusal(*failed: str, running: tuple[str, ...] = ()) -> PipelineStartError:
    queries: dict[str, Any] = dict.fromkeys(running)
    return PipelineStartError("lake", queries=queries, errors=dict.fromkeys(failed, REASON))


@pytest.mark.parametrize(
    ("failed", "running", "said"),
    [
        (("gold",), (), "The only stream of lake was not started."),
        (("gold", "raw"), (), "2 of 2 streams of lake were not started. None runs."),
        (("gold",), ("raw",), "1 of 2 streams of lake was not started. The other one runs."),
        (("gold",), ("raw", "a"), "1 of 3 streams of lake was not started. The others run."),
    ],
)
def test_it_says_how_many_and_what_the_others_do(
    failed: tuple[str, ...], running: tuple[str, ...], said: str
) -> None:
    assert refusal(*failed, running=running).what == said


def test_a_command_stands_on_a_line_of_its_own() -> None:
    lines = str(refusal("gold", running=("raw",))).splitlines()
    assert lines[1:] == [
        "gold: first line",
        "    holdfast accept gold HF604:7c1f --root /srv/streams",
        "Fix the errors above, then start only those streams: pipeline.start(spark, only=['gold'])",
    ]

"""What follows from what is there, each fact with the files it follows from."""

from __future__ import annotations

from holdfast.evidence.next_start import (
    NextStart,
    Refuses,
    Resumes,
    RunsAgain,
    StartsFresh,
    Unknown,
    predict_next_start,
)

__all__ = [
    "NextStart",
    "Refuses",
    "Resumes",
    "RunsAgain",
    "StartsFresh",
    "Unknown",
    "predict_next_start",
]

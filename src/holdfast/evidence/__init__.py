"""What follows from what is there, each fact with the files it follows from."""

from __future__ import annotations

from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.outcomes import (
    NextStart,
    Refuses,
    Reread,
    Resumes,
    RunsAgain,
    StartsFresh,
    Unknown,
)
from holdfast.evidence.overview import Overview, overview_of
from holdfast.evidence.query import Query

__all__ = [
    "Evidence",
    "NextStart",
    "Overview",
    "Query",
    "Refuses",
    "Reread",
    "Resumes",
    "RunsAgain",
    "StartsFresh",
    "Unknown",
    "overview_of",
]

"""From a location or a stream to a diagnosis: collect a case, judge it, say it."""

from __future__ import annotations

from holdfast.diagnosis.case import Looks, collect_case
from holdfast.diagnosis.diagnosis import Diagnosis, RestartVerdict, diagnose_case
from holdfast.diagnosis.fact import Fact
from holdfast.diagnosis.facts import find_facts

__all__ = [
    "Diagnosis",
    "Fact",
    "Looks",
    "RestartVerdict",
    "collect_case",
    "diagnose_case",
    "find_facts",
]

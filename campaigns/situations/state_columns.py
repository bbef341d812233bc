"""State that a restart binds to other columns: swapped, renamed to another function, retyped.

Each is an edit of `campaigns.edits`: the old code ran under guard, the new code is judged by its
plan, and real Spark is restarted with it on a copy.
"""

from __future__ import annotations

from campaigns.edits.catalogue import EDITS
from campaigns.edits.edit import Scene
from campaigns.edits.run import run
from campaigns.situations.situation import Bench, Shown, Situation

_EDITS = {edit.name: edit for edit in EDITS}


def _show(name: str, bench: Bench) -> Shown:
    outcome = run(_EDITS[name], bench.spark, Scene(place=bench.place, kafka=bench.kafka))
    return Shown(
        healthy=outcome.unchanged.findings,
        findings=outcome.said.findings,
        difference=None if outcome.error else outcome.difference,
        error=outcome.error,
        spark_said=outcome.error or "nothing",
    )


def _situation(name: str, code: str, edit: str, *, trap: str = "") -> Situation:
    return Situation(name=name, code=code, make=lambda bench: _show(edit, bench), trap=trap)


SITUATIONS = (
    _situation(
        "grouping-columns-swapped",
        "HF510",
        "the grouping columns are swapped",
        trap="Two grouping columns of one type are swapped. State is bound by position and names "
        "are ignored, so every group begins again from zero.",
    ),
    _situation("sums-swapped", "HF510", "two sums are swapped"),
    _situation("duplicate-keys-swapped", "HF510", "the keys of dropDuplicates are swapped"),
    _situation("sum-becomes-maximum", "HF513", "a sum becomes a maximum"),
    _situation("state-key-retyped", "HF511", "the type of a key is changed"),
    _situation("sources-swapped", "HF403", "the two sources of a union are swapped"),
    _situation("source-of-another-kind", "HF404", "files are read as a table"),
)

"""No two findings of one diagnosis contradict each other in what Spark will do.

If one predicts that Spark refuses to start, no other says that it takes a file, runs a batch or
goes on: what follows once it starts again says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

import pytest

from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.rules import RULES, Finding
from holdfast.spark_versions import parse_version
from holdfast.storage.memory import MemoryStorage
from holdfast.testing.rule_cases import findings_in, make_case
from tests.unit.checkpoint.archives import open_archive
from tests.unit.evidence.damaged import Damage, empty, every, remove, rewrite
from tests.unit.rules.test_damages import DAMAGES
from tests.unit.rules.test_rules import cases_of

REFUSED = re.compile(r"will refuse to start:|every start fails")
GOES_ON = re.compile(r"(?<!again, )Spark will (begin|continue|plan|read|resume|run|start|take)\b")
IGNORED = re.compile(r"Spark does not write (?P<paths>.*), and will ignore it")


def contradictions(found: tuple[Finding, ...]) -> Iterator[tuple[str, str]]:
    for one in found:
        for other in found:
            if REFUSED.search(one.what) and GOES_ON.search(other.what):
                yield str(one), str(other)
            ignored = IGNORED.search(other.what)
            named = ignored["paths"].split(", ") if ignored else []
            if REFUSED.search(one.what) and set(one.follows_from) & set(named):
                yield str(one), str(other)


def diagnosed(damage: Damage, version: str = "4.2") -> tuple[Finding, ...]:
    files = dict(open_archive(f"{version}-aggregation").checkpoint.files)
    damage(files)
    overview = overview_of(collect(MemoryStorage(files)), spark=parse_version(version))
    return findings_in(Case(checkpoint=overview.checkpoint, overview=overview))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{rule.code} {case.name}")
        for rule in RULES
        for case in cases_of(rule)
    ],
)
def test_the_findings_of_a_case_agree(case: object) -> None:
    assert list(contradictions(findings_in(make_case(case)))) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("name", DAMAGES)
def test_the_findings_of_a_damage_agree(name: str) -> None:
    for version in ("3.5", "4.2"):
        assert list(contradictions(diagnosed(DAMAGES[name][0], version))) == []


def test_the_findings_of_two_damages_agree() -> None:
    edited = rewrite("commits/5", lambda raw: raw.replace(b"0", b"1"), sidecars=False)
    damages = {
        "edited": edited,
        "emptied": rewrite("offsets/5", empty, sidecars=False),
        "gone": remove("offsets/4"),
        "renamed": lambda files: files.update({"offsets/0009": b""}),
        "source": rewrite("sources/0/4", lambda raw: raw + b"\n", sidecars=False),
    }
    for one, other in combinations(damages.values(), 2):
        assert list(contradictions(diagnosed(every(one, other)))) == []


def test_an_emptied_entry_with_its_checksum_is_refused_and_not_taken_as_it_is() -> None:
    names = [each.name for each in diagnosed(rewrite("offsets/5", empty, sidecars=False))]
    assert "entry-unreadable" in names
    assert "entry-edited" not in names

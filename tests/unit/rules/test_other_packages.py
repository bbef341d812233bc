"""Rules of other packages: loaded by their entry points; a broken one is named and stops no other.

The packages are real ones as far as Python can tell: a module and its metadata on the path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.diagnosis import RestartVerdict, diagnose_case
from holdfast.rules import RULES, Finding, judge, load_catalogue
from holdfast.testing.rule_cases import RuleCase, make_case

RULE = """\
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules import Finding, Needs, Rule


def judge(case):
    yield RULE.find(what="Something.", how="Do it.", follows_from=("metadata",))


RULE = Rule(
    code="{code}",
    name="{name}",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=judge,
)
"""
HEALTHY = RuleCase(name="healthy", planned=4, committed=4, is_bare=True, finds=())

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a package with rules onto the path, each entry by its name and the text of its module."""
    monkeypatch.syspath_prepend(tmp_path)

    def installed(**modules: str) -> None:
        home = tmp_path / "acme-1.0.dist-info"
        home.mkdir()
        (home / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
        entries = "".join(f"{name} = acme_{name}\n" for name in modules)
        (home / "entry_points.txt").write_text(f"[holdfast.rules]\n{entries}")
        for name, text in modules.items():
            (tmp_path / f"acme_{name}.py").write_text(text)
        load_catalogue.cache_clear()

    yield installed
    load_catalogue.cache_clear()
    for name in [each for each in sys.modules if each.startswith("acme_")]:
        del sys.modules[name]


def codes_of_acme(findings: tuple[Finding, ...]) -> list[str]:
    return [each.code for each in findings if each.code.startswith("ACME")]


def test_without_other_packages_there_are_ours() -> None:
    load_catalogue.cache_clear()
    assert load_catalogue().rules == tuple(RULES)
    assert load_catalogue().not_loaded == ()


def test_a_rule_of_another_package_judges_beside_ours(install: Install) -> None:
    install(stale=RULE.format(code="ACME1", name="stale"))
    catalogue = load_catalogue()
    assert [rule.code for rule in catalogue.rules] == [*(rule.code for rule in RULES), "ACME1"]
    found = diagnose_case(make_case(HEALTHY))
    assert codes_of_acme(found.findings) == ["ACME1"]
    assert found.verdict is RestartVerdict.SAFE


def test_a_guarded_start_judges_by_ours_alone(install: Install) -> None:
    install(stale=RULE.format(code="ACME1", name="stale"))
    assert len(load_catalogue().rules) == len(RULES) + 1
    assert codes_of_acme(judge(make_case(HEALTHY))) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
        ("raise OSError('postgres://a:hunter2@db/x')", "OSError: postgres://"),
        ("def judge(): pass", "AttributeError: module 'acme_broken' has no attribute 'RULE'"),
        ("RULE = 'ACME2'", "its RULE is not a holdfast.rules.Rule"),
        (RULE.format(code="HF999", name="n"), "its code HF999 is one of Holdfast's"),
        (RULE.format(code="ACME1", name="n"), "its code ACME1 is taken already"),
    ],
    ids=["import", "raises", "no RULE", "not a rule", "our code", "taken"],
)
def test_a_broken_one_is_named_and_the_others_judge(install: Install, text: str, why: str) -> None:
    install(a_good=RULE.format(code="ACME1", name="good"), broken=text)
    found = diagnose_case(make_case(HEALTHY))
    assert codes_of_acme(found.findings) == ["ACME1"]
    (said,) = found.not_judged
    assert said.startswith(f"the rule broken of another package, acme_broken: {why}")
    assert "hunter2" not in said
    assert found.verdict is RestartVerdict.UNKNOWN


def test_one_that_fails_while_it_judges_is_named(install: Install) -> None:
    text = RULE.format(code="ACME1", name="stale").replace(
        "    yield", "    case.nothing\n    yield"
    )
    install(stale=text)
    (said,) = diagnose_case(make_case(HEALTHY)).not_judged
    assert said.startswith("ACME1 stale: the rule itself failed (AttributeError: ")

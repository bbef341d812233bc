"""Rules of other packages: loaded by their entry points; a broken one is named and stops no other.

The packages are real ones as far as Python can tell: a module and its metadata on the path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.judgement.judge import Verdict, judge
from holdfast.rules import RULES, Finding, load_catalogue, own_catalogue
from holdfast.rules.catalogue import _may_have_entries
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
    found = judge(make_case(HEALTHY))
    assert codes_of_acme(found.findings) == ["ACME1"]
    assert found.verdict is Verdict.SAFE


def test_a_guarded_start_judges_by_ours_alone(install: Install) -> None:
    install(stale=RULE.format(code="ACME1", name="stale"))
    assert len(load_catalogue().rules) == len(RULES) + 1
    found = judge(make_case(HEALTHY), own_catalogue(make_case(HEALTHY)))
    assert codes_of_acme(found.findings) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
        ("raise OSError('postgres://a:hunter2@db/x')", "OSError: postgres://"),
        ("def judge(): pass", "it has no holdfast.rules.Rule"),
        ("RULE = 'ACME2'", "it has no holdfast.rules.Rule"),
        (RULE.format(code="HF999", name="n"), "its code HF999 is one of Holdfast's"),
        (RULE.format(code="ACME1", name="n"), "its code ACME1 is taken already"),
    ],
    ids=["import", "raises", "no RULE", "not a rule", "our code", "taken"],
)
def test_a_broken_one_is_named_and_the_others_judge(install: Install, text: str, why: str) -> None:
    install(a_good=RULE.format(code="ACME1", name="good"), broken=text)
    found = judge(make_case(HEALTHY))
    assert codes_of_acme(found.findings) == ["ACME1"]
    (said,) = found.not_judged
    assert said.startswith(f"the rule broken of another package, acme_broken: {why}")
    assert "hunter2" not in said
    assert found.verdict is Verdict.UNKNOWN


def test_one_that_fails_while_it_judges_is_named(install: Install) -> None:
    text = RULE.format(code="ACME1", name="stale").replace(
        "    yield", "    case.nothing\n    yield"
    )
    install(stale=text)
    judged = judge(make_case(HEALTHY))
    (found,) = [each for each in judged.findings if each.code == "ACME1"]
    assert not found.is_judged
    assert found.what.startswith("ACME1 was not judged: the rule itself failed (AttributeError: ")
    assert judged.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("acme-1.dist-info/entry_points.txt", "[holdfast.rules]\nA = acme\n", True),
        ("acme.egg-info/entry_points.txt", "[holdfast.rules]\nA = acme\n", True),
        ("EGG-INFO/entry_points.txt", "[holdfast.rules]\nA = acme\n", True),
        ("acme-1.dist-info/entry_points.txt", "[console_scripts]\na = acme\n", False),
        ("acme-1.dist-info/METADATA", "Name: acme\n", False),
        ("acme.egg-info", "Name: acme\n", True),
        ("acme.egg/x", "", True),
    ],
)
def test_packages_are_asked_unless_certainly_none_has_a_rule(
    *, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, text: str, found: bool
) -> None:
    place = tmp_path / path
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "not-there"), str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    assert _may_have_entries("holdfast.rules") is found


def test_an_archive_and_a_finder_of_another_kind_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(b"")
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert _may_have_entries("holdfast.rules")
    monkeypatch.setattr(sys, "path", [])
    assert not _may_have_entries("holdfast.rules")
    other = SimpleNamespace(find_distributions=lambda *_: ())
    monkeypatch.setattr(sys, "meta_path", [PathFinder, other])
    assert _may_have_entries("holdfast.rules")

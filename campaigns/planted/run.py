"""Runs checks on a copy of the source: tests by pytest, drills by their command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec

from campaigns.planted.bug import ROOT, Check
from holdfast.drills.summary import RESULT, SummaryJson
from lab.spark import environment

_DSN = "HOLDFAST_PLANTED_DSN"
_ASSERTED = ("assert ", "AssertionError", "Failed: DID NOT RAISE")


class Said(Enum):
    """What a check says."""

    PASSED = "passed"
    FAILED = "failed"
    """It looked, and what it saw was wrong."""
    BROKE = "broke"
    """It could not look, or something went wrong elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a check."""

    said: Said
    told: str
    """In one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where checks are run."""

    home: Path
    dsn: str
    """A scratch database, for the drills."""
    seed: int

    def run(self, source: Path, checks: Sequence[Check]) -> dict[Check, Outcome]:
        """Run checks on a copy of the source, all tests in one process."""
        here = source.parent
        tests = [check for check in checks if check.test]
        drills = [check for check in checks if check.drill]
        found = dict(self._run_tests(source, tests, here)) if tests else {}
        found |= self._run_drills(source, drills, here) if drills else {}
        return found

    def _environment(self, source: Path) -> dict[str, str]:
        given = {"HOLDFAST_ALL": "1", "HOLDFAST_SEED": str(self.seed), _DSN: self.dsn}
        return {**os.environ, **given, "PYTHONPATH": str(source)}

    def _command(self, words: list[str], log: Path, variables: dict[str, str]) -> None:
        with log.open("wb") as file:
            subprocess.run(
                [sys.executable, "-m", *words],
                check=False,
                cwd=ROOT,
                env=variables,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def _run_tests(
        self, source: Path, checks: Sequence[Check], here: Path
    ) -> Iterator[tuple[Check, Outcome]]:
        report = here / "tests.xml"
        nodes = list(dict.fromkeys(check.test for check in checks))
        words = ["pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *nodes]
        self._command(words, here / "tests.log", self._environment(source))
        cases = _read_report(report)
        missing = Outcome(said=Said.BROKE, told=f"it was not run: {here / 'tests.log'}")
        for check in checks:
            yield check, cases.get(_case_of(check.test), missing)

    def _run_drills(
        self, source: Path, checks: Sequence[Check], here: Path
    ) -> dict[Check, Outcome]:
        names = list(dict.fromkeys(check.drill for check in checks))
        place = here / "drills"
        words = ["holdfast", "drill", "run", *names, "--dsn", f"env:{_DSN}"]
        variables = {**self._environment(source), **environment(here / "spark", {})}
        self._command([*words, "--directory", str(place)], here / "drills.log", variables)
        missing = Outcome(said=Said.BROKE, told=f"it was not run: {here / 'drills.log'}")
        if not (place / RESULT).exists():
            return dict.fromkeys(checks, missing)
        summary = msgspec.json.decode((place / RESULT).read_bytes(), type=SummaryJson)
        said = {
            (drill.drill, each.check): Outcome(said=_VERDICTS[each.verdict], told=each.told)
            for drill in summary.drills
            for each in drill.checks
        }
        return {check: said.get((check.drill, check.check), missing) for check in checks}


_VERDICTS = {
    "PASS": Said.PASSED,
    "FAIL": Said.FAILED,
    "UNKNOWN": Said.BROKE,
    "NOT_CHECKED": Said.BROKE,
}


def _case_of(node: str) -> tuple[str, str]:
    """Return class and name of a test as a report of pytest has them."""
    path, _, name = node.partition("::")
    return path.removesuffix(".py").replace("/", "."), name


def _read_report(report: Path) -> dict[tuple[str, str], Outcome]:
    if not report.exists():
        return {}
    cases = ET.parse(report).iter("testcase")  # noqa: S314 - pytest has written it for us
    return {(each.get("classname", ""), each.get("name", "")): _outcome(each) for each in cases}


def _outcome(case: ET.Element) -> Outcome:
    failure, error = case.find("failure"), case.find("error")
    wrong = failure if error is None else error
    if wrong is None:
        is_skipped = case.find("skipped") is not None
        return Outcome(said=Said.BROKE if is_skipped else Said.PASSED, told="")
    told = " ".join(wrong.get("message", "").split())
    is_asserted = error is None and told.startswith(_ASSERTED)
    return Outcome(said=Said.FAILED if is_asserted else Said.BROKE, told=told)

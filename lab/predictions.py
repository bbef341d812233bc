"""What Holdfast predicts of damaged checkpoints, compared with each version of Spark.

The tests are those of the gate. They run in the Python of the version: its Spark writes the
checkpoints and restarts them, and Holdfast predicts for that version.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from holdfast.cli.table import columns
from lab.scratch import scratch_directory
from lab.spark import Installation
from lab.versions import REPOSITORY, installation_of
from lab.warm_up import ensure_archive

_TESTS = "tests/spark/test_restart_{}.py"
_SOME_FAILED = 1
"""Exit code of pytest after a complete run; with any other its report is not complete."""
_PARTS = ("table", "state", "state_logs", "state_rocksdb", "changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How many restarts of one version did what was predicted."""

    version: str
    agreed: int
    differ: tuple[str, ...]
    """The cases that did something else."""
    not_there: tuple[tuple[str, str], ...]
    """The cases that the version cannot have, each with the reason."""

    @property
    def is_complete(self) -> bool:
        """Whether every case was run, and none differs."""
        return bool(self.agreed) and not self.differ


def compare_predictions(version: str) -> Agreement:
    """Restart every damaged checkpoint on one version, and compare it with the prediction.

    Raises:
        InstallFailedError: The environment of the version could not be made.
        CalledProcessError: The tests could not be run to their end.
    """
    return read_report(version, report_of(version, [_TESTS.format(part) for part in _PARTS]))


def report_of(version: str, tests: Sequence[str]) -> bytes:
    """Run tests with one version of Spark; return pytest's report.

    Raises:
        InstallFailedError: The environment of the version could not be made.
        CalledProcessError: The tests could not be run to their end.
    """
    installation = installation_of(version)
    ensure_archive(installation)
    with scratch_directory() as directory:
        found = directory / "report.xml"
        run_tests(installation, tests, report=found)
        return found.read_bytes()


def run_tests(installation: Installation, tests: Sequence[str], *, report: Path) -> None:
    """Run tests in the Python of an installation, all of them, and keep pytest's report.

    Raises:
        CalledProcessError: The tests could not be run to their end.
    """
    # PySpark before 4.2 leaves sockets open, which is a warning and no difference.
    options = ["-m", "spark", "-q", "-W", "ignore", "-p", "no:cacheprovider"]
    variables = {
        "HOLDFAST_ALL": "1",
        "PYTHONPATH": str(REPOSITORY / "src"),  # Holdfast itself is not installed there
    }
    command = [str(installation.python), "-m", "pytest", *options, f"--junit-xml={report}", *tests]
    ended = subprocess.run(command, check=False, cwd=REPOSITORY, env={**os.environ, **variables})
    if ended.returncode not in (0, _SOME_FAILED):
        ended.check_returncode()


def read_report(version: str, found: bytes) -> Agreement:
    """Return what pytest's report in JUnit's XML says."""
    differ, not_there, agreed = [], [], 0
    for case in ET.fromstring(found).iter("testcase"):  # noqa: S314 - pytest wrote it
        name = f"{case.get('classname', '').rpartition('.')[2]}: {case.get('name')}"
        skipped = case.find("skipped")
        if skipped is not None:
            not_there.append((name, skipped.get("message", "")))
        elif len(case):
            differ.append(name)
        else:
            agreed += 1
    return Agreement(
        version=version, agreed=agreed, differ=tuple(differ), not_there=tuple(not_there)
    )


def report(found: Sequence[Agreement]) -> list[str]:
    """Return the lines of a table, and below it every case that differs or is not there."""
    rows: list[tuple[str, ...]] = [("Spark", "cases", "agreed", "differ", "not there")]
    notes = []
    for each in found:
        counts = (each.agreed, len(each.differ), len(each.not_there))
        rows.append((each.version, str(sum(counts)), *map(str, counts)))
        notes += [f"{each.version} differs: {name}" for name in each.differ]
        reasons = Counter(reason for _, reason in each.not_there)
        notes += [f"{each.version} lacks {number}: {why}" for why, number in reasons.items()]
    return [*columns(rows), *notes]

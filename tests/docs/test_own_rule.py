"""The rule that the page of rules brings as an example: its package works as it is shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from tests.house.repository import ROOT

PAGE = (ROOT / "docs/reference/rules.md").read_text().partition("## Bring your own rule")[2]
RULE, PROJECT, CASES, TEST = re.findall(r"```(?:python|toml)\n(.*?)```", PAGE, re.DOTALL)
NAMED = re.findall(r"`(acme_rules/\S+\.py|cases/\S+\.toml|test_\S+\.py)`", PAGE)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package of the page, as an installer leaves it."""
    files = dict(zip(NAMED, (RULE, CASES, TEST), strict=True))
    project = tomllib.loads(PROJECT)["project"]
    home = f"acme_rules-{project['version']}.dist-info"
    ((group, entries),) = project["entry-points"].items()
    points = "".join(f"{name} = {module}\n" for name, module in entries.items())
    files[f"{home}/entry_points.txt"] = f"[{group}]\n{points}"
    named = f"Name: {project['name']}\nVersion: {project['version']}\n"
    files[f"{home}/METADATA"] = f"Metadata-Version: 2.1\n{named}"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(package: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = f"{package}:{os.environ.get('PYTHONPATH', '')}"
    command = [sys.executable, "-m", *words]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        command, cwd=package, env=environment, check=False, capture_output=True, text=True
    )


def test_its_own_test_passes(package: Path) -> None:
    ran = run(package, "pytest", "-q", "-p", "no:cacheprovider", "test_rules.py")
    assert ran.returncode == 0, ran.stdout
    assert "2 passed" in ran.stdout


def test_diagnose_judges_by_it(package: Path) -> None:
    with tarfile.open(ROOT / "tests/checkpoints/4.2-aggregation.tar.xz") as archive:
        archive.extractall(package, filter="data")
    entry = package / "checkpoint/offsets/5"
    old = re.sub(r'"batchTimestampMs":\d+', '"batchTimestampMs":1', entry.read_text())
    entry.write_text(old)
    entry.with_name(".5.crc").unlink(missing_ok=True)
    ran = run(package, "holdfast", "diagnose", "checkpoint")
    assert "ACME1 stopped-for-days" in ran.stdout
    assert ": Start the stream before" in ran.stdout


def test_it_is_listed_and_explained(package: Path) -> None:
    assert "ACME1" in run(package, "holdfast", "rules", "list").stdout
    said = run(package, "holdfast", "rules", "explain", "ACME1").stdout
    assert "Our topics keep records for three days." in said


def test_a_broken_package_is_named(package: Path) -> None:
    (package / "acme_rules/stopped_for_days.py").write_text("import not_there")
    (package / "checkpoint").mkdir()
    ran = run(package, "holdfast", "diagnose", "checkpoint")
    assert "the rule stopped-for-days of another package, acme_rules.stopped_for_days" in ran.stdout

"""The tests of the Iceberg sink, in the Python of a Spark that has Iceberg."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.predictions import read_report, run_tests
from lab.versions import installation_of


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", ["contract", "answers", "merge", "plans", "traps"])
def test_it_holds_on_the_newest_spark_with_iceberg(part: str, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    run_tests(installation_of("4.1"), [f"tests/iceberg/test_{part}.py"], report=report)
    found = read_report("4.1", report.read_bytes())
    assert found.differ == ()
    assert found.agreed

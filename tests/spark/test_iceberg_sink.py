"""The tests of the Iceberg sink, in the Python of each Spark that has Iceberg."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.predictions import read_report, run_tests
from lab.versions import installation_of

PARTS = ["contract", "answers", "catalog", "merge", "plans", "traps"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("version", "catalog"), [("4.1", "jdbc"), ("4.1", "rest"), ("4.0", "jdbc"), ("3.5", "jdbc")]
)
@pytest.mark.parametrize("part", PARTS)
def test_it_holds_on_every_spark_with_iceberg(
    *, version: str, catalog: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.xml"
    monkeypatch.setenv("HOLDFAST_TEST_KIND", catalog)
    run_tests(installation_of(version), [f"tests/iceberg/test_{part}.py"], report=report)
    found = read_report(version, report.read_bytes())
    assert found.differ == ()
    assert found.agreed

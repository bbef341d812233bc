from __future__ import annotations

import re

import pyspark
import pytest

from fixtures.environments import SPARK_VERSIONS
from holdfast.streams import resolve
from lab.jars import locked
from lab.versions import OTHER_VERSIONS, requirements_of


def test_every_version_that_a_start_allows_is_run_in_the_gate() -> None:
    own = pyspark.__version__.rpartition(".")[0]
    (major, oldest), (_, newest) = resolve._OLDEST, resolve._NEWEST
    allowed = [f"{major}.{minor}" for minor in range(oldest, newest + 1)]
    assert [*OTHER_VERSIONS, own] == allowed


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_the_locked_release_is_the_one_that_writes_the_fixtures(version: str) -> None:
    text = requirements_of(version).read_text()
    assert re.findall(r"^pyspark==(\S+)", text, re.MULTILINE) == [SPARK_VERSIONS[version]]


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_delta_is_locked_for_it(version: str) -> None:
    artifacts = [each.split(":")[1] for each in locked(f"spark-{version}")]
    assert any(each.startswith("delta-spark") for each in artifacts)
    assert "delta-storage" in artifacts

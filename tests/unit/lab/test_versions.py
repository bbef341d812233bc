from __future__ import annotations

import re

import pyspark
import pytest

from fixtures.environments import SPARK_VERSIONS
from holdfast.spark_versions import KNOWN, SUPPORTED
from lab.jars import locked
from lab.versions import OTHER_VERSIONS, OWN_VERSION, requirements_of


def test_every_version_that_a_start_allows_is_run_in_the_gate() -> None:
    assert SUPPORTED[OWN_VERSION].release == pyspark.__version__
    assert {*OTHER_VERSIONS, OWN_VERSION} == set(SUPPORTED)


def test_every_version_can_be_read_as_well() -> None:
    assert [row.version for row in SUPPORTED.values()] == [*KNOWN]


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_the_locked_release_is_the_one_that_writes_the_fixtures(version: str) -> None:
    text = requirements_of(version).read_text()
    assert re.findall(r"^pyspark==(\S+)", text, re.MULTILINE) == [SPARK_VERSIONS[version]]


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_delta_is_locked_where_there_is_one(version: str) -> None:
    delta = SUPPORTED[version].delta
    artifacts = [each.split(":")[1] for each in locked(f"spark-{version}") if "io.delta" in each]
    assert artifacts == ([delta.split(":")[1], "delta-storage"] if delta else [])

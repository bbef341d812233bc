"""Delta's coordinates are those of one table, wherever they are printed or used."""

from __future__ import annotations

import re

import pyspark
import pytest

from holdfast.spark.delta_packages import DELTA_PACKAGES, DELTA_SESSION, delta_settings
from lab.jars import locked
from lab.versions import OTHER_VERSIONS, requirements_of
from tests.docs.test_docs import PAGES
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/reference/delta-coordinates.md").read_text()
GUIDE = (ROOT / "docs/guides/installing-on-a-cluster.md").read_text()
TUTORIAL = (ROOT / "docs/tutorials/first-drill.md").read_text()
PRINTED = re.compile(r"delta-spark_[\w.:-]*\d|io\.delta:[\w.:-]*\d")
NEWEST = max(DELTA_PACKAGES)


def test_no_page_prints_coordinates_of_its_own() -> None:
    known = set(DELTA_PACKAGES.values())
    printed = {(page.name, found) for page in PAGES for found in PRINTED.findall(page.read_text())}
    assert printed, "some pages print them"
    assert {each for each in printed if each[1] not in known} == set()


def test_the_page_has_a_row_for_every_version() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| `(\S+)` \|$", PAGE, re.MULTILINE)
    assert dict(rows) == DELTA_PACKAGES


@pytest.mark.parametrize("page", [PAGE, TUTORIAL], ids=["reference", "tutorial"])
def test_a_page_has_the_settings_of_a_session(page: str) -> None:
    for name, value in DELTA_SESSION.items():
        assert f"\n{name} {value}\n" in page


def test_the_tutorial_is_for_the_newest_spark() -> None:
    assert f"\nspark.jars.packages {DELTA_PACKAGES[NEWEST]}\n" in TUTORIAL
    assert f"the jar for Spark {NEWEST}." in TUTORIAL


def test_the_guide_names_them_for_what_is_run() -> None:
    rows = re.findall(r"^\| (\d\.\d)\.\d+ \| `(\S+)` \|", GUIDE, re.MULTILINE)
    assert dict(rows) == DELTA_PACKAGES
    assert f"\n| {pyspark.__version__} | " in GUIDE
    for version in OTHER_VERSIONS:
        release = re.search(r"^pyspark==(\S+)", requirements_of(version).read_text(), re.MULTILINE)
        assert release is not None
        assert f"\n| {release[1]} | " in GUIDE


@pytest.mark.parametrize("version", DELTA_PACKAGES)
def test_the_lab_runs_on_these_jars(version: str) -> None:
    group = f"spark-{version}" if version in OTHER_VERSIONS else "spark"
    assert DELTA_PACKAGES[version] in locked(group)


def test_a_version_that_is_not_in_the_table_gets_no_jar() -> None:
    assert delta_settings("4.1.4")["spark.jars.packages"] == DELTA_PACKAGES["4.1"]
    assert delta_settings("9.9.0") == DELTA_SESSION

"""Delta's coordinates are those of one table, wherever they are printed or used."""

from __future__ import annotations

import re

import pyspark
import pytest

from holdfast.spark_versions import DELTA_PACKAGES, DELTA_SESSION, SUPPORTED, delta_settings
from lab.jars import locked
from lab.versions import OTHER_VERSIONS, OWN_VERSION, requirements_of
from tests.docs.test_docs import PAGES
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/reference/delta-coordinates.md").read_text()
SUPPORT = (ROOT / "docs/reference/support.md").read_text()
TUTORIAL = (ROOT / "docs/tutorials/first-drill.md").read_text()
PRINTED = re.compile(r"delta-spark_[\w.:-]*\d|io\.delta:[\w.:-]*\d")
NEWEST = max(DELTA_PACKAGES)
README = (ROOT / "README.md").read_text()
SPAN = f"{min(SUPPORTED)} to {max(SUPPORTED)}"
SPANS = re.compile(r"Spark (3\.5 to \d\.\d)\b")


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


def test_the_readme_names_every_version() -> None:
    others = ", ".join(version for version in SUPPORTED if version not in DELTA_PACKAGES)
    cell = f"{', '.join(DELTA_PACKAGES)}; {others} without Delta"
    assert f"| Spark for `hf.start` | {cell} |" in README
    assert f"| Spark for `inspect` | {SPAN} |" in README


def test_every_page_names_the_same_span_of_versions() -> None:
    """A page says `Spark 3.5 to 4.3`, and a new version changes all of them."""
    named = {found for page in PAGES for found in SPANS.findall(page.read_text())}
    assert named == {SPAN, f"{min(DELTA_PACKAGES)} to {max(DELTA_PACKAGES)}"}


def test_the_tutorial_is_for_the_newest_spark() -> None:
    assert f"\nspark.jars.packages {DELTA_PACKAGES[NEWEST]}\n" in TUTORIAL
    assert f"the jar for Spark {NEWEST}." in TUTORIAL


def test_the_page_of_what_is_supported_has_every_version_as_it_is_run() -> None:
    rows = re.findall(
        r"^\| (\d\.\d) \| PySpark (\S+) \| tested \| (\S+?),?:? ", SUPPORT, re.MULTILINE
    )
    locks = {version: requirements_of(version).read_text() for version in OTHER_VERSIONS}
    releases = {
        version: re.findall(r"^pyspark==(\S+)", lock, re.MULTILINE)[0]
        for version, lock in locks.items()
    }
    expected = releases | {OWN_VERSION: pyspark.__version__}
    assert {version: release for version, release, _ in rows} == expected
    assert {version for version, _, delta in rows if delta == "tested"} == set(DELTA_PACKAGES)


@pytest.mark.parametrize("version", DELTA_PACKAGES)
def test_the_lab_runs_on_these_jars(version: str) -> None:
    group = f"spark-{version}" if version in OTHER_VERSIONS else "spark"
    assert DELTA_PACKAGES[version] in locked(group)


def test_a_version_that_is_not_in_the_table_gets_no_jar() -> None:
    assert delta_settings("4.1.4")["spark.jars.packages"] == DELTA_PACKAGES["4.1"]
    assert delta_settings("9.9.0") == DELTA_SESSION

"""The page of a rule says where its claim comes from, in a form that a reader can look up.

A citation is one of four things: a source file at a tag, a page of documentation, an issue, or a
command of this repository that measures it.
"""

from __future__ import annotations

import re
import shlex

import pytest

from campaigns.restart_damage.scenarios import SCENARIOS
from campaigns.situations.families import find_situations
from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.rule import LintRule
from holdfast.rules import RULES, Rule
from tests.house.repository import ROOT

SECTION = "## Where this comes from\n\n"
TAGS = {
    "apache/spark": "v4.2.0",
    "delta-io/delta": "v4.4.0",
    "apache/iceberg": "apache-iceberg-1.11.0",
    "apache/kafka": "3.8.0",
    "Azure/azure-kusto-spark": "v4.0_7.1.1",
}
"""Where each source was read; a newer tag is named once the files were read again at it."""
SOURCE = re.compile(
    r"[A-Z][\w. ]+ \d[\d.]*, `[^`]+`(?: and `[^`]+`)? in "
    r"\[(?P<name>[\w.-]+)\]\(https://github\.com/(?P<repository>[\w.-]+/[\w.-]+)/blob/"
    r"(?P<tag>[\w.-]+)/(?P<path>[\w./-]+)\)"
)
SITES = "spark.apache.org/docs|docs.delta.io|iceberg.apache.org/docs|docs.databricks.com"
DOCUMENTATION = re.compile(
    rf"[A-Z]\w+'s documentation: \[[^\]]+\]\(https://(?:{SITES})/[\w./#-]+\)"
)
ISSUE = re.compile(
    r"\[(?P<spark>SPARK-\d+)\]\(https://issues\.apache\.org/jira/browse/(?P=spark)\)"
    r"|\[(?P<at>[\w-]+/[\w-]+)#(?P<number>\d+)\]\(https://github\.com/(?P=at)/issues/(?P=number)\)"
)
MEASURED = re.compile(r"Measured, in the repository, by `(?P<how>[^`]+)`")


def citations_of(rule: Rule | LintRule) -> list[str]:
    """Return the citations of a rule, each in one line."""
    section = rule.page.partition(SECTION)[2]
    return [" ".join(each.split()) for each in f"\n{section}".split("\n- ")[1:]]


def code_of(rule: Rule | LintRule) -> str:
    return rule.code


@pytest.mark.parametrize("rule", [*RULES, *LINT_RULES], ids=code_of)
def test_every_citation_can_be_looked_up(rule: Rule | LintRule) -> None:
    citations = citations_of(rule)
    assert citations, f"{rule.code} does not say where its claim comes from"
    for citation in citations:
        if source := SOURCE.fullmatch(citation):
            assert source["tag"] == TAGS[source["repository"]], citation
            assert source["path"].endswith(f"/{source['name']}") or "/" not in source["path"]
        elif measured := MEASURED.fullmatch(citation):
            check_measurement(rule.code, measured["how"])
        else:
            assert DOCUMENTATION.fullmatch(citation) or ISSUE.fullmatch(citation), citation


def check_measurement(code: str, how: str) -> None:
    """See that what is named as a measurement is there, and is of this rule."""
    if how.startswith("tests/"):
        assert (ROOT / how).is_file(), how
        return
    python, flag, module, *words = shlex.split(how)
    assert (python, flag) == ("python", "-m"), how
    place = ROOT / module.replace(".", "/")
    assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), how
    if module == "campaigns.situations":
        codes = {each.name: each.code for each in find_situations()}
        # A rule of lint names the situation of the rule that finds the same in a checkpoint.
        assert {codes[word] for word in words} == {code} or code.startswith("HF8"), how
    elif module == "campaigns.restart_damage":
        assert words[0] == "--only"
        assert words[1] in {scenario.name for scenario in SCENARIOS}, how


@pytest.mark.parametrize(
    "text",
    [
        "Spark 4.2.0, `populateStartOffsets` in MicroBatchExecution.scala",
        "Spark 4.2.0, `x` in [A.scala](https://github.com/apache/spark/blob/A.scala)",
        "Spark's documentation",
        "It is well known.",
        "[SPARK-1](https://issues.apache.org/jira/browse/SPARK-2)",
    ],
)
def test_what_cannot_be_looked_up_is_no_citation(text: str) -> None:
    assert not any(each.fullmatch(text) for each in (SOURCE, DOCUMENTATION, ISSUE, MEASURED))


def test_a_measurement_that_is_not_there_is_found() -> None:
    for how in ("tests/spark/test_nothing.py", "python -m campaigns.nothing"):
        with pytest.raises(AssertionError):
            check_measurement("HF101", how)

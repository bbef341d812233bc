"""The table of predictions, from pytest's own report."""

from __future__ import annotations

from lab.predictions import read_report, report

XML = b"""<testsuites><testsuite>
<testcase classname="tests.spark.test_restart_table" name="test_a[clean]" />
<testcase classname="tests.spark.test_restart_table" name="test_a[cut]"><failure message="no">at
</failure></testcase>
<testcase classname="tests.spark.test_restart_state" name="test_b"><error message="at setup" />
</testcase>
<testcase classname="tests.spark.test_restart_state" name="test_c">
<skipped type="pytest.skip" message="there is no state format 2">at</skipped></testcase>
</testsuite></testsuites>"""


def test_every_case_agrees_differs_or_is_not_there() -> None:
    assert report([read_report("3.5", XML)]) == [
        "Spark  cases  agreed  differ  not there",
        "3.5    4      1       2       1",
        "3.5 differs: test_restart_table: test_a[cut]",
        "3.5 differs: test_restart_state: test_b",
        "3.5 lacks 1: there is no state format 2",
    ]


def test_nothing_that_ran_is_not_agreement() -> None:
    assert not read_report("3.5", b"<testsuites />").is_complete
    assert not read_report("3.5", XML).is_complete

"""The table of state that was compared, from pytest's own report."""

from __future__ import annotations

from lab.state_rows import read_report, report

NAME = "tests.spark.test_state_rows"
XML = f"""<testsuites><testsuite>
<testcase classname="{NAME}" name="test_rows[4.0-aggregation]"><properties>
<property name="HDFS-backed" value="1" /><property name="reads" value="6" />
<property name="rows" value="42" /></properties></testcase>
<testcase classname="{NAME}" name="test_rows[4.0-join-rocksdb]"><properties>
<property name="RocksDB" value="1" /><property name="reads" value="8" />
<property name="rows" value="1000" /></properties></testcase>
<testcase classname="{NAME}" name="test_rows[4.0-join]"><failure message="no" /></testcase>
<testcase classname="{NAME}" name="test_not[4.0-transform-with-state]"><properties>
<property name="not decoded" value="column families (x)" /></properties></testcase>
</testsuite></testsuites>""".encode()


def test_every_fixture_is_equal_differs_or_is_not_decoded() -> None:
    assert report([read_report("4.0", XML)]) == [
        "Spark  fixtures  equal  HDFS-backed  RocksDB  reads  rows   differ  not decoded",
        "4.0    4         2      1            1        14     1,042  1       1",
        "4.0 differs: 4.0-join",
        "4.0 not decoded: 4.0-transform-with-state: column families (x)",
    ]


def test_nothing_that_was_compared_is_not_agreement() -> None:
    assert not read_report("4.0", b"<testsuites />").is_complete
    assert not read_report("4.0", XML).is_complete

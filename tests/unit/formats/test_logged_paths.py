"""Paths in Spark's logs: decoded, compared, and never a reason to fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.logged_paths import (
    LoggedPath,
    common_directory,
    is_data_name,
    parse_logged_path,
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("file:///in/a%20b.json", ("file://", "/in", "a b.json")),
        ("file:/in/100%25/x", ("file://", "/in/100%", "x")),
        ("S3A://Lake/in/é.json", ("s3a://Lake", "/in", "é.json")),
        ("hdfs://nn:8020/x", ("hdfs://nn:8020", "", "x")),
        ("abfss://c@a.dfs.core.windows.net/in/x", ("abfss://c@a.dfs.core.windows.net", "/in", "x")),
        ("/in/x", ("", "/in", "x")),
        ("dbfs:/mnt/in/x", ("dbfs://", "/mnt/in", "x")),
    ],
)
def test_a_path_that_spark_writes(text: str, parts: tuple[str, str, str]) -> None:
    root, directory, name = parts
    assert parse_logged_path(text) == LoggedPath(root=root, directory=directory, name=name)


@given(st.text() | st.text(alphabet="abs3:/.%2Ff0\0"))
def test_no_text_fails_and_nothing_climbs(text: str) -> None:
    found = parse_logged_path(text)
    if found is not None:
        assert ".." not in (*found.directory.split("/"), found.name)
        assert found.display_name.isprintable()


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [("/in", "/in/a", "/in"), ("/in/a", "/in/b", "/in"), ("/in", "/input", ""), ("", "/x", "")],
)
def test_the_directory_that_two_are_in(one: str, other: str, common: str) -> None:
    assert common_directory(one, other) == common_directory(other, one) == common


@pytest.mark.parametrize("name", ["_SUCCESS", ".x.crc", "x._COPYING_"])
def test_files_that_spark_does_not_read(name: str) -> None:
    assert not is_data_name(name)

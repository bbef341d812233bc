from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.text import (
    VersionedText,
    parse_json,
    parse_versioned,
    split_lines,
    whole_number,
)
from holdfast.checkpoint.unparsed import Unparsed


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"v1\n{}\n-", ("{}", "-")),
        (b"v1\r\n{}\r\n-", ("{}", "-")),
        (b"v1\r{}", ("{}",)),
        (b"v1\n{}\n", ("{}",)),  # one line end at the end is harmless
        (b"v1\n{}\n\n", ("{}", "")),  # two are a further source
        (b"v1", ()),
        ("v1\n\u2028\x0b\x0c".encode(), ("\u2028\x0b\x0c",)),  # no line ends for Scala
    ],
)
def test_lines_are_what_spark_sees(raw: bytes, lines: tuple[str, ...]) -> None:
    assert parse_versioned("offsets/0", raw, newest=1) == VersionedText(version=1, lines=lines)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "the file is empty"),
        (b"{}", "its first line is '{}', not a version such as 'v1'"),
        (b"\nv1", "its first line is '', not a version such as 'v1'"),
        (b"v0\n", "its first line is 'v0', not a version such as 'v1'"),
        (b"v-1", "its first line is 'v-1', not a version such as 'v1'"),
        (b"v1 \n", "its first line is 'v1 ', not a version such as 'v1'"),
        (b"v3\n{}", "version v3 is newer than v2, the newest known here"),
        (b"v1\n\xff", "it is not UTF-8 text"),
        (b"PK" + b"x" * 99, f"its first line is {'PK' + 'x' * 38!r}, not a version such as 'v1'"),
    ],
)
def test_what_is_not_a_log_entry_says_why(raw: bytes, reason: str) -> None:
    found = parse_versioned("offsets/0", raw, newest=2)
    assert found == Unparsed(path="offsets/0", reason=reason)


@given(st.binary())
def test_any_bytes_are_lines_or_not_utf8(raw: bytes) -> None:
    lines = split_lines(raw)
    assert lines is None or all("\n" not in line for line in lines)


@given(st.text())
def test_any_text_is_json_or_none(text: str) -> None:
    parse_json(text)


def test_json_nested_deeper_than_the_stack_is_none() -> None:
    assert parse_json("[" * 100_000) is None


def test_a_truth_value_is_not_a_number() -> None:
    assert [whole_number(value) for value in (1, True, 1.0, "1", None)] == [
        1,
        None,
        None,
        None,
        None,
    ]

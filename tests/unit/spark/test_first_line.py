"""The line of an error of Spark that says what went wrong."""

from __future__ import annotations

import pytest

from holdfast.spark.errors import first_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[PATH_NOT_FOUND] Path does not exist: /x.\n;\n+- Project",
            "[PATH_NOT_FOUND] Path does not exist: /x.",
        ),
        (
            "An error occurred while calling o1.x.\n: o.a.s.Gone: Data may be lost;\n\tat x",
            "o.a.s.Gone: Data may be lost;",
        ),
        (
            "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            '  File "x", line 1\nholdfast.errors.ConfigError: Nothing was done.\n SQLSTATE: 38000',
            "holdfast.errors.ConfigError: Nothing was done.",
        ),
        ("", "ValueError"),
        ("postgresql://me:hunter2@db/x is away", "postgresql://***@db/x is away"),
    ],
)
def test_it_is_the_one_that_says_what_went_wrong(text: str, line: str) -> None:
    found = first_line(ValueError(text))
    assert "hunter2" not in found
    if "hunter2" not in text:
        assert found == line

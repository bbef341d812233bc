"""The line of an error of Spark that says what went wrong."""

from __future__ import annotations

import pytest

from holdfast.spark.errors import first_line, java_condition_of


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


class _Thrown:
    """As much of a Java exception as is asked for."""

    def __init__(self, message: str, cause: _Thrown | None = None) -> None:
        self._message, self._cause = message, cause

    def getMessage(self) -> str:  # noqa: N802 - Java's name
        return self._message

    def getCause(self) -> _Thrown | None:  # noqa: N802 - Java's name
        return self._cause


def test_what_was_awaited_is_told_by_its_cause() -> None:
    awaited = "Exception thrown in awaitResult: "
    told = "An error occurred while calling o1.sql.\n: org.apache.spark.SparkException: "
    error = RuntimeError(f"{told}{awaited}\n\tat x")
    assert first_line(error).endswith("awaitResult:")
    error._origin = _Thrown(awaited, _Thrown("a row has a NULL in its key id\n\tat y"))  # type: ignore[attr-defined]
    assert first_line(error) == "a row has a NULL in its key id"


@pytest.mark.parametrize(
    ("messages", "condition"),
    [
        (["[DELTA_VIOLATE_X] CHECK c violated"], "DELTA_VIOLATE_X"),
        (["Job aborted.", "[DELTA_NOT_NULL.X] n is null"], "DELTA_NOT_NULL.X"),
        (["[INTERNAL_ERROR] Cannot find main error class 'DELTA_MERGE_Y'"], "DELTA_MERGE_Y"),
        (["nothing", "[not one]"], ""),
        ([], ""),
    ],
)
def test_a_condition_is_told_by_what_pyspark_does_not_translate(
    messages: list[str], condition: str
) -> None:
    thrown: _Thrown | None = None
    for message in reversed(messages):
        thrown = _Thrown(message, thrown)
    error = RuntimeError("An error occurred while calling o1.append.")
    error._origin = thrown  # type: ignore[attr-defined]
    assert java_condition_of(error) == condition

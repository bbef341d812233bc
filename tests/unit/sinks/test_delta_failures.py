"""What an error of Spark says of a Delta table, by Delta's own condition."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from holdfast.sinks.delta.failures import failure_of, is_missing

MISSING = (
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_PATH_DOES_NOT_EXIST",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_TABLE_ONLY_OPERATION",
    "DELTA_CANNOT_READ_CHANGED_TABLE",
    "TABLE_OR_VIEW_NOT_FOUND",
)


class Said(AnalysisException):
    """An error of Spark with a condition."""

    def __init__(self, condition: str) -> None:
        super().__init__(f"[{condition}] said")
        self._condition = condition

    def getCondition(self) -> str:  # noqa: N802 - as PySpark has it
        return self._condition


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        *((name, "TABLE_CHANGED") for name in MISSING),
        ("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "DELTA_REFUSED"),
        ("DIVIDE_BY_ZERO", None),
    ],
)
def test_a_condition_has_its_code_while_a_batch_is_written(
    condition: str, code: str | None
) -> None:
    error = Said(condition)
    found = failure_of(error, "gold", 1)
    assert (found and found.code) == code
    assert is_missing(error) == (condition in MISSING)


@pytest.mark.parametrize("condition", MISSING)
def test_a_start_is_told_what_delta_says(condition: str) -> None:
    found = failure_of(Said(condition), "gold")
    assert found is not None
    assert found.code == "DELTA_REFUSED"

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.drills.log import last_error

STUCK = """\
16:05:50.011 ERROR MicroBatchExecution: Query [id = 1b, runId = 2c] terminated with error
org.apache.spark.SomeException: [NOT_EMPTY] The location should be empty
\tat org.apache.spark.Some.method(Some.scala:204)
Traceback (most recent call last):
  File "app.py", line 3, in <module>
pyspark.errors.StreamingQueryException: [STREAM_FAILED] Query [id = 1b, runId = 2c] terminated \
with exception: [NOT_EMPTY] The location should be empty
Please use another. SQLSTATE: 42K03
"""


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (STUCK, "[NOT_EMPTY] The location should be empty"),
        ("some.where.ConfigError: no table\nbye\n", "some.where.ConfigError: no table"),
        ("all is well\n", ""),
    ],
)
def test_the_last_error_is_what_a_query_failed_with(log: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(log)
    assert last_error(tmp_path / "log") == error
    assert last_error(tmp_path / "no-log") == ""

"""What is read in a log, a stack trace or a pasted message."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsite.error_index import error_index, rules_of
from holdfast.evidence.error_causes import Cause
from holdfast.evidence.error_index import CONDITIONS, cause_of
from holdfast.evidence.error_messages import MESSAGES, WORDS, message_of
from holdfast.evidence.spark_error import (
    LONGEST_LINE,
    MOST_ERRORS,
    read_spark_error,
    read_spark_errors,
)

TRACE = (
    "26/11/16 10:00:00 ERROR MicroBatchExecution: Query readings "
    "[id = 6f0c0000-0000-4000-8000-000000000000, runId = 7a000000-0000-4000-8000-000000000000] "
    "terminated with error\n"
    "org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] "
    "An error occurred during loading state. Error reading delta file "
    "s3a://lake/cp/state/0/1/12.delta of HDFSStateStoreProvider[id = (op=0,part=1)]: "
    "s3a://lake/cp/state/0/1/12.delta does not exist. SQLSTATE: 58030\n"
    "\tat org.apache.spark.sql.errors.QueryExecutionErrors$.x(QueryExecutionErrors.scala:1)\n"
    "Caused by: java.io.FileNotFoundException: s3a://lake/cp/state/0/1/12.delta\n"
    "\t... 12 more\n"
)


def test_a_trace_names_its_condition_its_file_and_its_query() -> None:
    report = read_spark_error(TRACE)
    assert report.last is not None
    assert report.last.cause is Cause.STATE_FILE_MISSING
    assert report.last.condition == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    assert report.last.file == "s3a://lake/cp/state/0/1/12.delta"
    assert report.last.checkpoint == "s3a://lake/cp"
    assert report.query_id == "6f0c0000-0000-4000-8000-000000000000"
    assert (report.last.line, report.lines) == (2, 5)
    assert pickle.loads(pickle.dumps(report)) == report


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("batch 113258 doesn't exist", "batch", 113258),
        ("Multiple streaming jobs detected for 7.", "batch", 7),
        ("Failed to read log file s3://l/cp/offsets/41. Incomplete log file", "batch", 41),
        ("Partition t-0's offset was changed from 500 to 300, some", "offsets", (500, 300)),
        ("Partition t-0's offset was changed from 500 to 300, some", "partition", "t-0"),
        ("Added partition a.b-12 starts from 812 instead of 0.", "partition", "a.b-12"),
        (
            "[DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE] reading from an unexpected Delta"
            " table (id = 6f0c0000-0000-4000-8000-000000000000)",
            "table",
            "6f0c0000-0000-4000-8000-000000000000",
        ),
    ],
)
def test_the_figures_of_a_message_are_read(text: str, field: str, value: object) -> None:
    last = read_spark_error(text).last
    assert last is not None
    assert getattr(last, field) == value


def test_the_figures_may_be_on_the_lines_after_the_condition() -> None:
    last = read_spark_error("[KAFKA_DATA_LOSS.X_Y]\nsome\npartition t-3 from 7 to 5\n").last
    assert last is not None
    assert (last.partition, last.offsets) == ("t-3", (7, 5))


@pytest.mark.parametrize(
    "form",
    [
        "[{}] text",
        '{{"errorClass":"{}","messageParameters":{{}}}}',
        "error class: {}",
        "AnalysisException(errorClass = {})",
        '{{"condition": "{}"}}',
        "[STREAM_FAILED] Query [id = x] terminated with exception: [{}] text SQLSTATE: XXKST",
    ],
)
def test_a_condition_is_found_in_every_form(form: str) -> None:
    last = read_spark_error(form.format("CONCURRENT_STREAM_LOG_UPDATE")).last
    assert last is not None
    assert last.cause is Cause.TWO_DRIVERS


def test_the_last_error_counts_and_every_distinct_one_is_kept() -> None:
    report = read_spark_error(
        "[DELTA_SOURCE_IGNORE_DELETE] a\n[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] b\n"
        "[DELTA_SOURCE_IGNORE_DELETE] c\n"
    )
    assert [each.cause for each in report.errors] == [Cause.STATE_SCHEMA, Cause.TABLE_NOT_APPEND]
    assert report.last is not None
    assert report.last.line == 3


def test_a_kill_long_after_an_error_is_what_counts() -> None:
    far = "\n" * 2_000
    report = read_spark_error(f"[DELTA_SOURCE_IGNORE_DELETE] a{far}exit code 137")
    assert report.last is not None
    assert report.last.cause is Cause.KILLED
    near = read_spark_error("[DELTA_SOURCE_IGNORE_DELETE] a\n\nexit code 137").last
    assert near is not None
    assert near.cause is Cause.TABLE_NOT_APPEND


def test_a_text_without_an_error_has_none() -> None:
    report = read_spark_error("INFO a\nINFO [MainThread] b\n")
    assert report.last is None
    assert not report.has_failure
    assert read_spark_error("").last is None


def test_a_huge_line_and_many_errors_take_little() -> None:
    line = "x" * (LONGEST_LINE * 5) + "[DELTA_SOURCE_IGNORE_DELETE]" + "y" * LONGEST_LINE
    last = read_spark_errors([line]).last
    assert last is not None
    assert last.cause is Cause.TABLE_NOT_APPEND
    assert len(last.message) <= 301
    many = "\n".join(f"[NAME_{number}] x" for number in range(1_000))
    assert len(read_spark_error(many).errors) == MOST_ERRORS


@given(st.integers(1, 200))
def test_where_the_text_is_cut_does_not_matter(size: int) -> None:
    pieces = [TRACE[at : at + size] for at in range(0, len(TRACE), size)]
    assert read_spark_errors(pieces) == read_spark_error(TRACE)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for error in read_spark_error(f"[DELTA_SOURCE_IGNORE_DELETE] {text}").errors:
        assert error.message.isprintable()


@pytest.mark.parametrize("condition", [name for all_ in CONDITIONS.values() for name in all_])
def test_every_condition_of_the_index_is_found(condition: str) -> None:
    cause = next(cause for cause, names in CONDITIONS.items() if condition in names)
    assert cause_of(condition.replace("*", "")) is cause


def test_every_cause_has_an_error_and_one_rule() -> None:
    named = set(CONDITIONS) | {each.cause for each in MESSAGES} | {Cause.OTHER}
    assert named == set(Cause)
    assert {cause.name: len(rules_of(cause)) for cause in Cause} == dict.fromkeys(
        (cause.name for cause in Cause), 1
    )
    assert len(error_index()) == len(Cause) + 1


def test_a_message_is_recognised_as_its_own() -> None:
    found = WORDS.search("There are [1] sources in the checkpoint offsets and now there are [2]")
    assert found is not None
    assert message_of(found).cause is Cause.SOURCES_CHANGED

"""What a refusal of PostgreSQL, and of a sink's own checks, tells the user and the program."""

from __future__ import annotations

from psycopg import Error, errors
from psycopg.pq import DiagnosticField

from holdfast.sinks.failures import TableError
from holdfast.sinks.postgres.failures import refusal_of


def test_the_server_is_quoted_and_an_error_without_words_is_named() -> None:
    said: dict[int, bytes | None] = {DiagnosticField.MESSAGE_PRIMARY: b"could not extend file"}
    refused = refusal_of(errors.DiskFull(info=said), "the table readings", 7)
    assert refused.why == "PostgreSQL answered 53100: could not extend file."
    assert refusal_of(errors.DiskFull(), "it").why == "PostgreSQL answered 53100: DiskFull."
    assert refusal_of(Error(), "it").why == "PostgreSQL answered no code: Error."


def test_a_program_can_take_the_table_and_the_statement_from_the_error() -> None:
    sql = "ALTER TABLE readings ADD COLUMN at bigint"
    refused = TableError("public.readings", why="It has no column at.", sql=sql)
    assert (refused.table, refused.sql) == ("public.readings", sql)

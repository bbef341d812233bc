"""Whether Delta recognises a batch by the txnAppId and txnVersion that a function gives."""

from __future__ import annotations

import pytest

from holdfast.audit.model import AuditedQuery
from holdfast.audit.programs import audit_file
from holdfast.grades import Effect

NONE, LOSES, REPEATS = [Effect.NONE], [Effect.LOSES], [Effect.REPEATS]
APP = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"
SAVE = "rows.write.format('delta').mode('append').save('/a')"
JOB = """
df = spark.readStream.format('kafka').option('subscribe', 'a').load()
def put(rows, number):
    write(rows, 'a', number)
def write(rows, app, version):
    rows.write.option('txnAppId', app).option('txnVersion', version).mode('append').saveAsTable('t')
def save(rows, n):
    {}
df.writeStream.option('checkpointLocation', '/srv/cp').foreachBatch({}).start()
"""


def audit(body: str, function: str = "save") -> AuditedQuery:
    (query,) = audit_file("job.py", JOB.format(body, function).encode()).queries
    return query


def options(app: str, version: str) -> str:
    return SAVE.replace(".mode", f".option('txnAppId', {app}).option('txnVersion', {version}).mode")


@pytest.mark.parametrize(
    ("given", "recognises", "effects"),
    [
        (("'a'", "n"), "yes", NONE),
        (("'a'", "str(n)"), "yes", NONE),
        (("'a'", "int(str(n))"), "yes", NONE),
        (("'a'", "f'{n}'"), "yes", NONE),
        (("f'orders/{query_id}'", "n"), "yes", NONE),
        (("str(uuid.uuid4())", "n"), "no", REPEATS),
        (("spark.sparkContext.applicationId", "n"), "no", REPEATS),
        (("'a'", "int(time.time())"), "no", REPEATS),
        (("'a'", "1"), "no", LOSES),
        (("f'a/{n}'", "1"), "not-known", []),
        (("'a'", "rows.count()"), "not-known", []),
        (("'a'", "n % 10"), "not-known", []),
        (("'a'", "other"), "not-known", []),
    ],
)
def test_options_of_a_write(given: tuple[str, str], recognises: str, effects: list[Effect]) -> None:
    query = audit(options(*given))
    assert (query.recognises.value, [*query.effects]) == (recognises, effects)
    assert query.why_place == "job.py:8"


def test_the_batch_id_is_followed_through_functions_of_the_file() -> None:
    assert audit("pass", "put").recognises.value == "yes"
    assert audit("write(rows, 'a', 7)").recognises.value == "no"
    assert audit(f"version = n; {options(repr('a'), 'version')}").recognises.value != "no"


def test_a_batch_id_that_may_have_been_given_another_value_is_not_known() -> None:
    assert audit(f"n = n % 7\n    {options(repr('a'), 'n')}").recognises.value == "not-known"
    body = f"if late:\n        n = 0\n    {options(repr('a'), 'n')}"
    assert audit(body).recognises.value == "not-known"


def test_one_without_the_other() -> None:
    query = audit(SAVE.replace(".mode", ".option('txnAppId', 'a').mode"))
    assert query.recognises.value == "not-known"
    assert "txnVersion is not found" in query.why


SET_APP = f"spark.conf.set('{APP}', 'a')"
SET_VERSION = f"spark.conf.set('{VERSION}', n)"


@pytest.mark.parametrize(
    ("lines", "recognises"),
    [
        ([SET_APP, SET_VERSION, SAVE], "yes"),
        ([SET_APP, SET_VERSION, SAVE, f"spark.conf.unset('{APP}')"], "yes"),
        ([f"spark.sql('SET {APP} = a')", f"spark.sql(f'SET {VERSION} = {{n}}')", SAVE], "yes"),
        ([SET_APP, SAVE], "not-known"),
        ([SET_APP, SET_VERSION.replace("n)", "1)"), SAVE], "no"),
        ([SET_APP, SET_VERSION.replace("n)", "int(time.time()))"), SAVE], "no"),
        ([SET_APP.replace("'a'", "str(uuid.uuid4())"), SET_VERSION, SAVE], "no"),
        ([SAVE, SET_APP, SET_VERSION], "not-known"),
        ([f"if late: {SET_APP}; {SET_VERSION}", SAVE], "not-known"),
        ([SET_APP, SET_VERSION, f"spark.conf.unset('{APP}')", SAVE], "not-known"),
        ([f"spark.conf.unset('{APP}')", SAVE], "no"),
        ([f"'Sets {APP} and {VERSION}.'", SAVE], "no"),
        ([f"'{APP}'", SAVE], "no"),
        ([f"print('{APP}', n)", SAVE], "no"),
    ],
)
def test_settings_of_the_session(lines: list[str], recognises: str) -> None:
    assert audit("\n    ".join(lines)).recognises.value == recognises

"""What is asked of Spark for one commit, and as whom; that it does so is shown on Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.sinks.delta.commit import Identity, append, merge
from holdfast.sinks.delta.target import Target
from holdfast.sinks.spark_merge import _largest_first, merge_statement
from holdfast.storage.memory import MemoryStorage
from tests.stand_ins import stand_in

ME = Identity(app="holdfast/readings/gold", version=7, note="note")
AS_ME = {
    "spark.databricks.delta.write.txnAppId": "holdfast/readings/gold",
    "spark.databricks.delta.write.txnVersion": "7",
    "spark.databricks.delta.commitInfo.userMetadata": "note",
}


def target(**given: Any) -> Target:
    return Target(**{"name": "gold", "reader": MemoryStorage(), **given})


class Writer:
    """Notes what Spark's own writer is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.sparkSession = Session(failing=False)

    def __getattr__(self, name: str) -> Any:
        def ask(*given: Any) -> Writer:
            self.asked.append((name, *given))
            return self

        return ask


def test_rows_are_appended_as_somebody_by_a_write_that_never_creates_a_table() -> None:
    writer = Writer()
    append(stand_in(writer), target(), ME)
    assert writer.asked == [
        ("writeTo", "gold"),
        ("option", "txnAppId", ME.app),
        ("option", "txnVersion", "7"),
        ("option", "userMetadata", "note"),
        ("append",),
    ]


class Session:
    """Notes the settings under which a statement runs."""

    def __init__(self, *, failing: bool) -> None:
        self.settings: dict[str, str] = {}
        self.conf = SimpleNamespace(
            get=self.settings.get, set=self.settings.__setitem__, unset=self.settings.pop
        )
        self.failing = failing
        self.ran: list[Any] = []

    def sql(self, statement: str) -> None:
        self.ran.append((statement, dict(self.settings)))
        if self.failing:
            raise RuntimeError("upstream")


@pytest.mark.parametrize("failing", [False, True])
def test_a_merge_runs_as_somebody_and_leaves_no_setting_behind(
    monkeypatch: pytest.MonkeyPatch, *, failing: bool
) -> None:
    session, views = Session(failing=failing), list[str]()
    rows = SimpleNamespace(sparkSession=session, columns=["id", "value"])
    merged = target(keys=("id",))

    def source(*given: Any) -> Any:
        assert given == (rows, merged)
        return SimpleNamespace(createOrReplaceTempView=views.append)

    monkeypatch.setattr("holdfast.sinks.delta.commit.merge_source", source)
    if failing:
        with pytest.raises(RuntimeError, match="upstream"):
            merge(stand_in(rows), merged, ME)
    else:
        merge(stand_in(rows), merged, ME)
    assert session.ran == [(merge_statement(["id", "value"], merged), AS_ME)]
    assert views == ["holdfast_batch"]
    assert session.settings == {}


def test_without_an_order_the_row_that_comes_stays() -> None:
    assert merge_statement(["id", "k`2", "v"], target(keys=("id", "k`2"))) == (
        "MERGE INTO gold t USING holdfast_batch s ON t.`id` = s.`id` AND t.`k``2` = s.`k``2`"
        " WHEN MATCHED THEN UPDATE SET"
        " t.`id` = s.`id`, t.`k``2` = s.`k``2`, t.`v` = s.`v`"
        " WHEN NOT MATCHED THEN INSERT (`id`, `k``2`, `v`) VALUES (s.`id`, s.`k``2`, s.`v`)"
    )


def test_where_columns_are_added_all_of_them_are_written() -> None:
    evolving = target(keys=("id",), is_evolving=True)
    assert merge_statement(["id", "v"], evolving) == (
        "MERGE INTO gold t USING holdfast_batch s ON t.`id` = s.`id`"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


NEWER = (
    "(t.`at` IS NULL AND s.`at` IS NOT NULL) OR s.`at` > t.`at` OR (s.`at` <=> t.`at` AND {tie})"
)
LARGER = "coalesce((s.`{0}` IS NULL AND t.`{0}` IS NOT NULL) OR s.`{0}` > t.`{0}`, false)"
TIES = {
    True: f"({LARGER.format('id')} OR (s.`id` <=> t.`id` AND"
    f" ({LARGER.format('at')} OR (s.`at` <=> t.`at` AND false))))",
    False: "md5(to_json(struct(s.`id`, s.`at`))) > md5(to_json(struct(t.`id`, t.`at`)))",
}


@pytest.mark.parametrize("is_ordered", [True, False])
def test_with_an_order_only_a_newer_row_stays_and_of_two_the_larger(*, is_ordered: bool) -> None:
    merged = target(keys=("id",), sequence_by="at", is_evolving=True, is_ordered=is_ordered)
    assert merge_statement(["id", "at"], merged) == (
        "MERGE INTO gold t USING holdfast_batch s ON t.`id` = s.`id`"
        f" WHEN MATCHED AND ({NEWER.format(tie=TIES[is_ordered])}) THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT *"
    )


def test_rows_without_an_order_are_ranked_by_the_text_that_the_merge_compares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ordered = "pyspark.sql.functions.expr", lambda sql: SimpleNamespace(desc=lambda: f"{sql} DESC")
    monkeypatch.setattr(*ordered)
    batch = stand_in(SimpleNamespace(columns=["id", "v`2"]))
    assert _largest_first(batch, target(is_ordered=False)) == [
        "md5(to_json(struct(`id`, `v``2`))) DESC"
    ]

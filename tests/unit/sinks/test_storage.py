"""What became of a table's storage between two looks, from the two texts alone."""

from __future__ import annotations

import pytest

from holdfast.sinks.postgres.storage import find_change, table_oid

PLAIN = "100/100"
DAYS = "100/0\n101/101 100 FOR VALUES FROM (1) TO (2)\n102/102 100 FOR VALUES FROM (2) TO (3)"

HARMLESS = {
    "nothing": (PLAIN, PLAIN),
    "nothing below a partitioned table": (DAYS, DAYS),
    "a partition more": (DAYS, f"{DAYS}\n103/103 100 FOR VALUES FROM (3) TO (4)"),
    "a partition less": (DAYS, "\n".join(DAYS.split("\n")[:2])),
    "the first partition": ("100/0", DAYS),
    "the same bounds below another parent": (
        DAYS,
        DAYS.replace("101/101 100", "103/103 99").replace("FROM (1) TO (2)", "FROM (1) TO (2)"),
    ),
}
CHANGES = {
    "dropped": (PLAIN, None, "dropped or renamed"),
    "created again": (PLAIN, "200/200", "created again"),
    "truncated": (PLAIN, "100/300", "truncated"),
    "a partition truncated": (DAYS, DAYS.replace("102/102", "102/300"), "FROM (2) TO (3)"),
    "a partition replaced": (DAYS, DAYS.replace("102/102", "300/300"), "was replaced"),
    "every partition gone": (DAYS, "100/0", "all its partitions"),
    "every partition gone, another there": (
        DAYS,
        "100/0\n109/109 100 FOR VALUES FROM (7) TO (8)",
        "all its partitions",
    ),
}


@pytest.mark.parametrize(("before", "now"), HARMLESS.values(), ids=list(HARMLESS))
def test_a_table_that_still_has_its_rows_is_not_changed(before: str, now: str) -> None:
    assert find_change(before, now) is None


@pytest.mark.parametrize(("before", "now", "said"), CHANGES.values(), ids=list(CHANGES))
def test_a_table_that_was_emptied_or_replaced_is_named(
    before: str, now: str | None, said: str
) -> None:
    found = find_change(before, now)
    assert found is not None
    assert said in found


def test_the_first_number_is_the_oid_of_the_table() -> None:
    assert (table_oid(PLAIN), table_oid(DAYS)) == (100, 100)

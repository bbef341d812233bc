"""What the driver reads of a database's table is bounded."""

from __future__ import annotations

import pytest

from holdfast.sinks.database.contents import bounded
from holdfast.sinks.database.failures import TableTooLargeError
from holdfast.sinks.database.target import Row


def test_rows_are_read_as_long_as_the_driver_may_hold_them() -> None:
    chunks: list[list[Row]] = [[(1, "abc"), (2, None)], [(3, b"abcd")]]
    assert list(bounded(iter(chunks), most=39, shown="the table readings")) == chunks
    with pytest.raises(TableTooLargeError, match="more than 38 bytes"):
        list(bounded(iter(chunks), most=38, shown="the table readings"))

"""What is asked of keys before a sink is used."""

from __future__ import annotations

import pytest

from holdfast.errors import ConfigError
from holdfast.sinks.merging import check_keys, check_output_mode


def test_an_order_without_keys_is_refused() -> None:
    assert check_keys(["a"], "at") == ("a",)
    assert check_keys([], None) == ()
    with pytest.raises(ConfigError, match="give keys too"):
        check_keys([], "at")


def test_complete_is_merged_and_never_appended() -> None:
    check_output_mode("append", "the table")
    with pytest.raises(ConfigError, match="the table it would be there many times"):
        check_output_mode("complete", "the table")

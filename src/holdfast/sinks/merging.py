"""What every sink that merges by keys asks of them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import ConfigError


def check_keys(keys: Sequence[str], sequence_by: str | None) -> tuple[str, ...]:
    """Return the keys that rows are merged by; none when they are appended.

    Raises:
        ConfigError: They are not a list of names, or an order is given without keys.
    """
    if isinstance(keys, str):
        raise ConfigError(f"keys= takes a list of columns: keys=[{keys!r}], not keys={keys!r}.")
    if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
        raise ConfigError(f"keys= takes a list of column names, not {keys!r}.")
    if "" in keys or len(set(keys)) < len(keys):
        raise ConfigError(f"keys= takes the name of each column once, not {keys!r}.")
    order: object = sequence_by
    if order == "" or (order is not None and not isinstance(order, str)):
        raise ConfigError(f"sequence_by= takes the name of one column, not {sequence_by!r}.")
    if sequence_by is not None and not keys:
        raise ConfigError("sequence_by orders rows of one key: give keys too.")
    return tuple(keys)


def check_output_mode(output_mode: str, shown: str) -> None:
    """Refuse an output mode whose batches cannot be appended.

    Raises:
        ConfigError: Every batch brings the whole result, and there are no keys to find it by.
    """
    if output_mode == "complete":
        raise ConfigError(
            f"Output mode complete writes the whole result with every batch; appended to {shown} "
            "it would be there many times. Use keys, or another output mode."
        )

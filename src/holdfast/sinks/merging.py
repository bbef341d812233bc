"""What every sink that merges by keys asks of them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import ConfigError


def check_keys(keys: Sequence[str], sequence_by: str | None) -> tuple[str, ...]:
    """Return the keys that rows are merged by; none when they are appended.

    Raises:
        ConfigError: An order is given without keys.
    """
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

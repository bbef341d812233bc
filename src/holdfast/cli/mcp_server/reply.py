"""What tools are given, and what they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from holdfast.cli.mcp_server.roots import Roots


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """What a server may open, as the person who started it said."""

    roots: Roots
    storage_options: Mapping[str, str] = msgspec.field(default_factory=dict)
    allows_apply: bool = False

    @property
    def storage_words(self) -> list[str]:
        """The options of the bucket, for a command; they are never shown."""
        return [f"--storage-option={name}={value}" for name, value in self.storage_options.items()]


class Reply(NamedTuple):
    """What a tool found."""

    exit_code: int
    answer: dict[str, object]
    command: Sequence[str] = ()
    """The same question as a command, without `holdfast`."""
    steps: Sequence[str] = ()
    """What a person can run next."""

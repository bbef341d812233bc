"""What a run left: one file each, which the next night is compared with."""

from __future__ import annotations

from pathlib import Path

import msgspec

_SLOWER = 1.5
"""A run that takes so many times as long as the last one is named."""


class Result(msgspec.Struct, frozen=True, kw_only=True, tag="holdfast.nightly", tag_field="format"):
    """How one run ended."""

    name: str
    version: int = 1
    commit: str
    seed: int
    seconds: float
    exit_code: int | None
    """None if it was ended because it took too long."""
    last_lines: tuple[str, ...]

    @property
    def held(self) -> bool:
        """Whether the run ended with 0."""
        return self.exit_code == 0

    def compare(self, before: Result | None) -> str:
        """Return in words how it ended, beside the last time."""
        ended = "held" if self.held else _fault(self.exit_code)
        if before is None:
            return f"{ended}, {self.seconds:,.0f} s, first time"
        changed = "" if before.held == self.held else ", held before" if before.held else ", new"
        slower = self.held and before.held and self.seconds > _SLOWER * before.seconds
        than = f"before {before.seconds:,.0f} s{', slower' if slower else ''}"
        return f"{ended}{changed}, {self.seconds:,.0f} s, {than}"


def _fault(code: int | None) -> str:
    return "NOT SHOWN, took too long" if code is None else f"FAILED with {code}"


def read_result(directory: Path, name: str) -> Result | None:
    """Return how a run ended the last time; None if no readable file says so."""
    try:
        return msgspec.json.decode((directory / f"{name}.json").read_bytes(), type=Result)
    except (OSError, msgspec.MsgspecError):
        return None


def write_result(directory: Path, result: Result) -> None:
    """Keep how a run ended, in place of the last time."""
    written = msgspec.json.format(msgspec.json.encode(result), indent=2)
    (directory / f"{result.name}.json").write_bytes(written + b"\n")

"""What can become of a file: emptied, cut off, a bit turned over."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

CUT_EVERYWHERE_BYTES = 4096
CUTS_OF_LARGER = 200


@dataclass(frozen=True, slots=True)
class Damage:
    """One damage; where it is counts bytes of a cut and bits of a flip."""

    kind: Literal["empty", "cut", "flip"]
    at: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.at}"

    def apply(self, raw: bytes) -> bytes:
        """Return the damaged content."""
        if self.kind != "flip":
            return raw[: self.at]
        damaged = bytearray(raw)
        damaged[self.at // 8] ^= 1 << self.at % 8
        return bytes(damaged)


def parse_damage(text: str) -> Damage:
    """Return the damage of its text."""
    kind, _, at = text.partition(":")
    if kind not in ("empty", "cut", "flip"):
        raise ValueError(f"no damage is named {kind!r}")
    return Damage(kind, int(at))  # type: ignore[arg-type] # one of the three


def shortenings(raw: bytes) -> Iterator[Damage]:
    """Yield a file emptied and cut: at every byte, or of a larger one in as many places."""
    if not raw:
        return
    yield Damage("empty")
    size = len(raw)
    if size <= CUT_EVERYWHERE_BYTES:
        places: Sequence[int] = range(1, size)
    else:
        places = [size * place // (CUTS_OF_LARGER + 1) for place in range(1, CUTS_OF_LARGER + 1)]
    yield from (Damage("cut", place) for place in places)


def random_damage(raw: bytes, chance: random.Random) -> Damage:
    """Return some damage of a file that is not empty: mostly a cut or a flip."""
    if len(raw) == 1 or chance.random() < 0.2:
        return Damage("empty")
    if chance.random() < 0.5:
        return Damage("cut", chance.randrange(1, len(raw)))
    return random_flip(raw, chance)


def random_flip(raw: bytes, chance: random.Random) -> Damage:
    """Return a bit of a file that is not empty."""
    return Damage("flip", chance.randrange(8 * len(raw)))

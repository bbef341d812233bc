"""One damage to a checkpoint: which file, what is done to it, and what becomes of its checksum.

A damage is a value that can be named and applied again: what is random in it follows from its name.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from pathlib import Path

Edit = Callable[[bytes, random.Random], bytes]
_GARBAGE = b'{"x":1}'


@unique
class Checksum(StrEnum):
    """What becomes of Hadoop's checksum beside the file."""

    KEPT = "checksum-kept"
    GONE = "checksum-gone"
    """Deleted or moved along with its file, as in a store that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What is done to one copy of a checkpoint."""

    path: str
    """Below the checkpoint."""
    how: str
    """A key of `EDITS`, or `delete`, `directory`, `swap`, `copy`, `new-file`, `new-directory`."""
    number: int = 0
    """Tells damages of the same kind apart; a flip chooses its bit by it."""
    other: str = ""
    """The second file of a swap, or the name of a copy."""
    checksum: Checksum = Checksum.KEPT

    @property
    def name(self) -> str:
        """In one word."""
        parts = (self.path, self.how, str(self.number), self.other, self.checksum.value)
        return "|".join(parts)

    @property
    def area(self) -> str:
        """The part of the checkpoint that it is in."""
        first = self.path.partition("/")[0]
        last = self.path.rpartition("/")[2]
        if last.endswith(".crc"):
            return "checksums"
        if first == "state":
            is_described = "_metadata" in self.path or "_stateSchema" in self.path
            return "state schemas" if is_described else "state"
        return first

    def apply(self, checkpoint: Path) -> bool:
        """Do it; return whether anything is different afterwards."""
        target = checkpoint / self.path
        if self.how in EDITS:
            return self._edit(target)
        return _DEEDS[self.how](self, target, checkpoint)

    def _edit(self, target: Path) -> bool:
        raw = target.read_bytes()
        changed = EDITS[self.how](raw, random.Random(self.name))  # noqa: S311 - repeated by its name
        target.write_bytes(changed)
        self.drop_checksum(target)
        return changed != raw

    def drop_checksum(self, target: Path) -> None:
        """Delete the checksum of a file, where the damage says so."""
        if self.checksum is Checksum.GONE:
            sidecar_of(target).unlink(missing_ok=True)


def sidecar_of(path: Path) -> Path:
    """Return where Hadoop keeps the checksum of a file."""
    return path.with_name(f".{path.name}.crc")


def _flip(raw: bytes, chosen: random.Random) -> bytes:
    if not raw:
        return raw
    at = chosen.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ (1 << chosen.randrange(8))]) + raw[at + 1 :]


def _flip_digit(raw: bytes, chosen: random.Random) -> bytes:
    """Flip the lowest bit of a digit, which leaves a text in its form."""
    digits = [at for at, byte in enumerate(raw) if 0x30 <= byte <= 0x39]
    if not digits:
        return raw
    at = chosen.choice(digits)
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


def _cut(raw: bytes, chosen: random.Random) -> bytes:
    return raw[: chosen.randrange(len(raw))] if raw else raw


def _cut_line(raw: bytes, _: random.Random) -> bytes:
    """Cut off the last line."""
    return raw.rpartition(b"\n")[0]


EDITS: Mapping[str, Edit] = {
    "empty": lambda _, __: b"",
    "cut-to-half": lambda raw, _: raw[: len(raw) // 2],
    "cut-last-byte": lambda raw, _: raw[:-1],
    "cut-last-line": _cut_line,
    "cut-anywhere": _cut,
    "flip": _flip,
    "flip-digit": _flip_digit,
    "append-line-end": lambda raw, _: raw + b"\n",
    "append-garbage": lambda raw, _: raw + b"\n" + _GARBAGE,
    "append-itself": lambda raw, _: raw + raw,
}
"""Changes of a file's content."""


def _delete(damage: Damage, target: Path, _: Path) -> bool:
    target.unlink()
    damage.drop_checksum(target)
    return True


def _directory(damage: Damage, target: Path, _: Path) -> bool:
    target.unlink()
    target.mkdir()
    damage.drop_checksum(target)
    return True


def _swap(damage: Damage, target: Path, checkpoint: Path) -> bool:
    pairs = [(target, checkpoint / damage.other)]
    if damage.checksum is Checksum.GONE:  # they go along with their files
        pairs.append((sidecar_of(pairs[0][0]), sidecar_of(pairs[0][1])))
    changed = False
    for one, two in pairs:
        if one.exists() and two.exists():
            first, second = one.read_bytes(), two.read_bytes()
            one.write_bytes(second)
            two.write_bytes(first)
            changed = changed or first != second
    return changed


def _copy(damage: Damage, target: Path, checkpoint: Path) -> bool:
    other = checkpoint / damage.other
    if other.exists():
        return False
    shutil.copyfile(target, other)
    sidecar = sidecar_of(target)
    if damage.checksum is Checksum.GONE and sidecar.exists():
        shutil.copyfile(sidecar, sidecar_of(other))
    return True


def _new_file(_: Damage, target: Path, __: Path) -> bool:
    if target.exists():
        return False
    target.write_bytes(b"")
    return True


def _new_directory(_: Damage, target: Path, __: Path) -> bool:
    if target.exists():
        return False
    target.mkdir(parents=True)
    return True


_DEEDS: Mapping[str, Callable[[Damage, Path, Path], bool]] = {
    "delete": _delete,
    "directory": _directory,
    "swap": _swap,
    "copy": _copy,
    "new-file": _new_file,
    "new-directory": _new_directory,
}

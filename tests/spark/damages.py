"""Damages to a copy of a checkpoint: what is deleted, changed or added."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], None]
Edit = Callable[[bytes], bytes]

TEMP = ".{}.3b1e0000-0000-4000-8000-000000000000.tmp"


def nothing(_: Path) -> None:
    pass


def every(*damages: Damage) -> Damage:
    def damage(checkpoint: Path) -> None:
        for each in damages:
            each(checkpoint)

    return damage


def pending(damage: Damage) -> Damage:
    """Take the newest commit entry away as well."""
    return every(remove("commits/4"), damage)


def remove(*patterns: str, sidecars: bool = True) -> Damage:
    """Delete files, with their checksums unless somebody forgets them, or whole directories."""

    def damage(checkpoint: Path) -> None:
        for target in _find(checkpoint, *patterns):
            if target.is_dir():
                shutil.rmtree(target)
                continue
            target.unlink()
            if sidecars:
                _sidecar(target).unlink()

    return damage


def rewrite(pattern: str, edit: Edit, *, sidecars: bool = True) -> Damage:
    """Change files; their checksums go, as in a bucket, unless somebody forgets them."""

    def damage(checkpoint: Path) -> None:
        for target in _find(checkpoint, pattern):
            raw = target.read_bytes()
            assert edit(raw) != raw
            target.write_bytes(edit(raw))
            if sidecars:
                _sidecar(target).unlink()

    return damage


def write(path: str, content: bytes) -> Damage:
    def damage(checkpoint: Path) -> None:
        (checkpoint / path).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint / path).write_bytes(content)

    return damage


def cut(path: str) -> Damage:
    return rewrite(path, halve, sidecars=False)


def on_table(snapshot: str, damage: Callable[[str], Damage]) -> Damage:
    """Damage the first table (SST) that a RocksDB snapshot names."""

    def on_its_table(checkpoint: Path) -> None:
        (found,) = _find(checkpoint, snapshot)
        with zipfile.ZipFile(found) as archive:
            named = json.loads(archive.read("metadata").partition(b"\n")[2])["sstFiles"]
        table = found.parent / "SSTs" / named[0]["dfsSstFileName"]
        damage(str(table.relative_to(checkpoint)))(checkpoint)

    return on_its_table


def empty(_: bytes) -> bytes:
    return b""


def halve(raw: bytes) -> bytes:
    return raw[: len(raw) // 2]


def scramble(raw: bytes) -> bytes:
    """Return as many bytes that mean nothing."""
    return bytes(number * 37 % 256 for number in range(len(raw)))


def on_line(number: int, edit: Callable[[str], str]) -> Edit:
    def change(raw: bytes) -> bytes:
        lines = raw.decode().split("\n")
        lines[number] = edit(lines[number])
        return "\n".join(lines).encode()

    return change


def _find(checkpoint: Path, *patterns: str) -> list[Path]:
    found = []
    for each in patterns:
        plain = checkpoint / each
        matching = [plain] if plain.exists() else sorted(checkpoint.glob(each))
        assert matching, f"no {each} in {checkpoint}"
        found += matching
    return found


def _sidecar(target: Path) -> Path:
    return target.with_name(f".{target.name}.crc")

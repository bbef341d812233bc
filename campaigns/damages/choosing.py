"""Which damages there are for a checkpoint, and a sample of them that has some of every kind."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from campaigns.damages.damage import EDITS, Checksum, Damage

_FLIPS = 12
_SHARES = {"flip": 3, "flip-digit": 2}
_AGES = 5
"""Three names above the newest file are among the damages, so that these are the newest three."""
_NUMBERED = re.compile(r"(?P<home>.*/)(?P<number>[0-9]+)(?P<rest>[^/]*)")
_TEMP = ".{}.3b1e0000-0000-4000-8000-000000000000.tmp"


def enumerate_damages(checkpoint: Path) -> list[Damage]:
    """Return every damage that is tried on a checkpoint."""
    paths = sorted(
        str(path.relative_to(checkpoint)) for path in checkpoint.rglob("*") if path.is_file()
    )
    files = [path for path in paths if not _is_sidecar(path)]
    found: list[Damage] = []
    for path in paths:
        found += _edits(path)
        found += [
            Damage(path=path, how=how, checksum=each)
            for how in ("delete", "directory")
            for each in Checksum
            if not (_is_sidecar(path) and each is Checksum.GONE)
        ]
    for path in files:
        found += _swaps(path, files)
        found += _copies(path)
    return [*found, *_at_new_names(files)]


def _is_sidecar(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".") and name.endswith(".crc")


def _edits(path: str) -> Iterator[Damage]:
    checksums = [Checksum.KEPT] if _is_sidecar(path) else [*Checksum]
    for how in EDITS:
        times = {"flip": _FLIPS, "flip-digit": _FLIPS // 2, "cut-anywhere": 3}.get(how, 1)
        for number in range(times):
            for each in checksums:
                yield Damage(path=path, how=how, number=number, checksum=each)


def _swaps(path: str, files: Sequence[str]) -> Iterator[Damage]:
    """Yield swaps with the files of the same directory that come after it."""
    home, _, _ = path.rpartition("/")
    later = [each for each in files if each > path and each.rpartition("/")[0] == home]
    for other in later[:3]:
        for each in Checksum:
            yield Damage(path=path, how="swap", other=other, checksum=each)


def _copies(path: str) -> Iterator[Damage]:
    """Yield copies under other names: the number with zeros, the next ones, a temp file's name."""
    home, _, name = path.rpartition("/")
    names = [f"{name}.copy", _TEMP.format(name)]
    matched = _NUMBERED.fullmatch(path)
    if matched:
        number, rest = int(matched["number"]), matched["rest"]
        names += [f"00{number}{rest}", f"+{number}{rest}"]
        names += [f"{number + ahead}{rest}" for ahead in (1, 2, 3, 7)]
        names += [f"00{number + 1}{rest}", f"{number}.compact", f"{number}.snapshot"]
    for other in names:
        for each in Checksum:
            below = f"{home}/{other}" if home else other
            yield Damage(path=path, how="copy", other=below, checksum=each)


def _at_new_names(files: Sequence[str]) -> Iterator[Damage]:
    """Yield empty files and directories where Spark writes next, and where it may look."""
    for home, kinds in sorted(_newest_in(files).items()):
        for rest, newest in sorted(kinds.items()):
            names = [f"{newest + ahead}{rest}" for ahead in (1, 2, 3)]
            names += [f"000{newest}{rest}", f"000{newest + 1}{rest}", f".{newest + 1}{rest}.crc"]
            names += [_TEMP.format(f"{newest + 1}{rest}"), f"-1{rest}"]
            for name in names:
                for how in ("new-file", "new-directory"):
                    yield Damage(path=f"{home}{name}", how=how)


def _newest_in(files: Sequence[str]) -> dict[str, dict[str, int]]:
    newest: dict[str, dict[str, int]] = defaultdict(dict)
    for path in files:
        matched = _NUMBERED.fullmatch(path)
        if matched and "_" not in matched["rest"] and "-" not in matched["rest"]:
            found = newest[matched["home"]]
            found[matched["rest"]] = max(found.get(matched["rest"], 0), int(matched["number"]))
    return newest


def choose(damages: Sequence[Damage], count: int, *, seed: int) -> list[Damage]:
    """Return a sample that goes round over areas, ages and kinds of damage: each has some.

    The newest files of a directory, which a start reads, are a kind of their own; flips, which can
    leave a file in its form, come more often than the others.
    """
    if count <= 0 or count >= len(damages):
        return list(damages)
    chosen = random.Random(seed)  # noqa: S311 - it is repeated by its seed
    newest = _newest_in([each.path for each in damages])
    kinds: dict[tuple[str, str, str, bool], list[Damage]] = defaultdict(list)
    for each in damages:
        kinds[each.area, each.how, each.checksum, _is_new(each.path, newest)].append(each)
    for found in kinds.values():
        chosen.shuffle(found)
    order = [kind for kind in sorted(kinds) for _ in range(_SHARES.get(kind[1], 1))]
    chosen.shuffle(order)
    sample: list[Damage] = []
    while len(sample) < count:
        for kind in order:
            if kinds[kind] and len(sample) < count:
                sample.append(kinds[kind].pop())
    return sample


def _is_new(path: str, newest: Mapping[str, Mapping[str, int]]) -> bool:
    """Return whether a file is among the three newest of its directory, or has no number."""
    matched = _NUMBERED.fullmatch(path)
    if not matched:
        return True
    found = newest.get(matched["home"], {})
    return int(matched["number"]) >= found.get(matched["rest"], 0) - _AGES

"""What tells the sources of a query apart: the name that Spark gives them, and some options.

Two sources can have one name: files of one directory, told apart by `pathGlobFilter`; a topic of
the same name in two clusters. How much a source reads at a time is not what it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from holdfast.record.contracts import SOURCE_FORM, Contract

_WHAT_IS_READ = (
    "assign",
    "basePath",
    "kafka.bootstrap.servers",
    "path",
    "pathGlobFilter",
    "readChangeFeed",
    "recursiveFileLookup",
    "rowsPerBatch",
    "rowsPerSecond",
    "subscribe",
    "subscribePattern",
)
_FROM_WHERE = (
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingVersion",
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    (),
    _WHAT_IS_READ,
    (*_WHAT_IS_READ, *_FROM_WHERE),
    (*_WHAT_IS_READ, *_FROM_WHERE, *SOURCE_FORM),
)


def find_swapped(old: Contract, new: Contract) -> tuple[tuple[int, str, str], ...]:
    """Return the sources that have changed places: number, as it was and as it is; () if none has.

    They have if both queries have the same sources in another order, by their names or by more of
    what tells them apart. What the older contract does not know is not compared.
    """
    if len(old.sources) != len(new.sources):
        return ()
    for level in _LEVELS if _has_forms(old) else _LEVELS[:-1]:
        before, now = _identities(old, level), _identities(new, level)
        if before != now and Counter(before) == Counter(now):
            return tuple(
                (number, _show(old, number, level), _show(new, number, level))
                for number in range(len(before))
                if before[number] != now[number]
            )
        if Counter(old.sources) != Counter(new.sources) or not _has_options(old, new):
            return ()
    return ()


def find_narrowed(old: Contract, new: Contract) -> Iterator[tuple[int, str, str]]:
    """Yield sources that no longer read what they have read: number, and as it was and is."""
    if old.sources != new.sources or not _has_options(old, new):
        return
    for number, (was, is_) in enumerate(zip(old.source_options, new.source_options, strict=True)):
        glob, recursive = is_.get("pathGlobFilter"), "recursiveFileLookup"
        is_other = glob is not None and glob != was.get("pathGlobFilter")
        is_flat = was.get(recursive, "").lower() == "true" != is_.get(recursive, "").lower()
        if is_other or is_flat:
            names = ("pathGlobFilter", recursive)
            yield number, _show(old, number, names), _show(new, number, names)


def _has_forms(contract: Contract) -> bool:
    return all(name in options for options in contract.source_options for name in SOURCE_FORM)


def _has_options(old: Contract, new: Contract) -> bool:
    return len(old.source_options) == len(new.source_options) == len(old.sources)


def _identities(contract: Contract, level: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [
        (name, *(f"{key}={options[key]}" for key in level if key in options))
        for name, options in zip(contract.sources, _options(contract), strict=True)
    ]


def _options(contract: Contract) -> list[Mapping[str, str]]:
    return list(contract.source_options) or [{} for _ in contract.sources]


def _show(contract: Contract, number: int, names: tuple[str, ...]) -> str:
    options = _options(contract)[number]
    told = ", ".join(
        f"{name}={options[name]}" for name in names if name in options and name != "path"
    )
    return f"{contract.sources[number]} ({told})" if told else contract.sources[number]

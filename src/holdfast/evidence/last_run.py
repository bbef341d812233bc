"""What the last run of a plain query was, in place of a contract: as its checkpoint tells it.

What is not known of it is taken as it is in the program, so that no rule finds a change there, and
is named as *not compared*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

import msgspec

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.errors import ReadError
from holdfast.evidence.source_names import first_directory
from holdfast.record.contracts import Contract
from holdfast.sources.kind import DescribedSource
from holdfast.sources.registry import parse_offset
from holdfast.storage.location import normal
from holdfast.storage.read import Reader

_NARROWING = ("pathGlobFilter", "recursiveFileLookup")
"""Options of a source of files that decide which of them it reads."""
_TOPICS, _PATTERN = "subscribe", "subscribePattern"
_GLOB = re.compile(r"/[^/]*[*?\[{].*", re.DOTALL)
_GIVE_LOG = "Give Spark's event log to compare them."
_BY_CHECKPOINT = (
    "The checkpoint does not tell the sink of the last run, and settings that Spark does not pin. "
    f"{_GIVE_LOG}"
)
_WITH_STATE = (
    "The checkpoint does not tell the output mode of the last run, its watermarks, and what its "
    f"aggregates were computed from. {_GIVE_LOG}"
)
Source = tuple[str, Mapping[str, str]]
"""The name of a source and its options, as a contract has them."""


class LastRun(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the last run."""

    contract: Contract
    unknown: tuple[str, ...]
    """What could not be compared, one sentence each."""
    where: str
    """Where it was read."""
    is_assumed: bool = False
    """Whether the checkpoint alone told it."""


class SourcesBefore(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of the last run, as a contract has them."""

    names: tuple[str, ...]
    options: tuple[Mapping[str, str], ...]
    unknown: tuple[str, ...]


def run_in_checkpoint(reader: Reader, checkpoint: Checkpoint, now: Contract) -> LastRun:
    """Return what a checkpoint tells of the last run of its query.

    Args:
        reader: Of the checkpoint.
        checkpoint: As it was read.
        now: The query of the program.
    """
    entry = checkpoint.newest_readable
    found = _find_sources(reader, entry, now) if entry is not None else ()
    sources = match_sources(now, found, where="the checkpoint")
    named = tuple(each.name for each in checkpoint.state)
    operators = tuple(each or "" for each in named) if all(named) else now.operators
    contract = msgspec.structs.replace(
        now,
        sources=sources.names,
        source_options=sources.options,
        operators=operators,
        operator_keys=(),
        operator_parts=(),
        operator_not_null=(),
    )
    unknown = (*sources.unknown, _BY_CHECKPOINT, *((_WITH_STATE,) if now.operators else ()))
    return LastRun(contract=contract, unknown=unknown, where="the checkpoint", is_assumed=True)


def _find_sources(
    reader: Reader, entry: OffsetEntry, now: Contract
) -> list[tuple[str, DescribedSource | None]]:
    """Return each source of an entry as it is called there, and what it reads if that is told."""
    found = []
    for each in entry.offsets:
        offset = None if each.text is None else parse_offset(each.text)
        described = None if offset is None else offset.described
        if offset is not None and offset.log_index is not None:
            described = _of_files(reader, each.source, now)
        found.append(("" if offset is None else offset.named, described))
    return found


def _of_files(reader: Reader, source: str, now: Contract) -> DescribedSource | None:
    """Return a source of files by the directory of a file that it has read."""
    try:
        found = first_directory(reader, source)
    except ReadError:
        return None
    if found is None:
        return None
    path = normal(unquote(found))
    here = [options.get("path", "") for options in now.source_options]
    own = here[int(source) : int(source) + 1] if source.isdecimal() else []
    # A table of files has directories of its own below its path.
    path = next((each for each in (*own, *here) if _is_below(path, each)), path)
    return DescribedSource(name=f"FileSource[{path}]", options={"path": path})


def _is_below(path: str, directory: str) -> bool:
    if not directory:
        return False
    place = normal(_GLOB.sub("", directory))
    return path == place or path.startswith(f"{place.rstrip('/')}/")


def match_sources(
    now: Contract, before: Sequence[tuple[str, DescribedSource | None]], *, where: str
) -> SourcesBefore:
    """Return the sources of the last run; one that the program has too is spelt as it is there.

    Args:
        now: The query of the program.
        before: Each source of the last run: as it is called, and what it reads if that is known.
        where: Where they were read, in words.
    """
    here = list(zip(now.sources, now.source_options, strict=True))
    sources: list[Source] = []
    unknown: list[str] = []
    for number, (called, was) in enumerate(before):
        own = here[number] if number < len(here) else (called, {})
        same = next((each for each in (own, *here) if was and _is_same(was, each)), None)
        if was is None or (same is None and _is_by_other_words(was, own)):
            sources.append(own)  # nothing is known of it, and so nothing is found in it
            unknown.append(f"{where} does not say what source {number} ({called}) was reading.")
            continue
        sources.append(same or (was.name, {**own[1], **was.options}))
        unknown += [
            f"{where} does not say {name} of source {number}."
            for name in _NARROWING
            if name in own[1]
        ]
    return SourcesBefore(
        names=tuple(name for name, _ in sources),
        options=tuple(dict(options) for _, options in sources),
        unknown=tuple(f"{each[0].upper()}{each[1:]}" for each in unknown),
    )


def _is_same(was: DescribedSource, here: Source) -> bool:
    """Return whether a source is one of the program, however it is written there."""
    name, options = here
    kinds = (each.partition("[")[0].partition(" ")[0] for each in (was.name, name))
    if len(set(kinds)) > 1:
        return False
    pattern = options.get(_PATTERN)
    if pattern is not None and _TOPICS in was.options:
        return _matches(pattern, was.options[_TOPICS].split(","))
    return all(_is_equal(key, options.get(key, ""), value) for key, value in was.options.items())


def _matches(pattern: str, topics: Sequence[str]) -> bool:
    try:
        return all(re.fullmatch(pattern, each) for each in topics)
    except re.error:  # Java's own
        return False


def _is_by_other_words(was: DescribedSource, here: Source) -> bool:
    """Return whether one names topics and the other a pattern or partitions."""
    words = (_TOPICS, _PATTERN, "assign")
    before, now = ({word for word in words if word in each} for each in (was.options, here[1]))
    return bool(before and now) and before != now


def _is_equal(option: str, here: str, was: str) -> bool:
    if option == _TOPICS:
        topics, before = ({each.strip() for each in text.split(",")} for text in (here, was))
        return topics == before
    return here == was or (option == "path" and normal(here) == normal(was))

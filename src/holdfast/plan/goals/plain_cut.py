"""The output of Spark's file sink up to a batch: which files stay, by its own log."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from holdfast.checkpoint.file_sink import DIRECTORY, SinkEntry, parse_sink_log, read_sink_log
from holdfast.errors import LocationError
from holdfast.formats.logged_paths import parse_logged_path
from holdfast.plan.goals.plain_parts import NewTree
from holdfast.plan.plain import OutputDirectory
from holdfast.plan.plan_file import NoPlan
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.location import Location, is_inside, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader, read_chunks


def cut_output(
    directory: OutputDirectory, batch: int, options: Mapping[str, str]
) -> NewTree | NoPlan:
    """Return what stays of an output that goes back to a batch.

    Args:
        directory: The output.
        batch: The last one that stays.
        options: Of the store.
    """
    there = open_reader(directory.location, options)
    log, shown = read_sink_log(there), directory.output.display_name
    if log is None or log.newest is None:
        return NoPlan(reason=f"{shown} has no {DIRECTORY}: which files a batch wrote is not known.")
    base = max((at for at in log.compacts if at <= batch), default=-1)
    kept = [at for at in log.entries if base < at <= batch]
    if kept != list(range(base + 1, batch + 1)):
        return NoPlan(
            reason=f"The log of {shown} does not have every entry up to batch {batch} any more: "
            "which files it held then is not known."
        )
    stays = set(_paths(there, _names(base, kept)))
    later = [at for at in log.entries if at > batch]
    compacts = [f"{at}.compact" for at in log.compacts if at > batch]
    goes = set(_paths(there, (*map(str, later), *compacts)))
    if None in stays or None in goes:
        return NoPlan(reason=f"The log of {shown} cannot be read, or names files elsewhere.")
    gone = {path for path in goes - stays if path is not None}
    return NewTree(leaves_out=tuple(sorted({*gone, *_sidecars(gone), *_log_files(there, batch)})))


def _names(base: int, kept: Sequence[int]) -> tuple[str, ...]:
    return (*([f"{base}.compact"] if base >= 0 else []), *map(str, kept))


def _paths(there: Reader, names: Iterable[str]) -> Iterator[str | None]:
    """Yield the files that entries of the log list, below the output; None for one elsewhere."""
    for name in names:
        path = f"{DIRECTORY}/{name}"
        for entry in parse_sink_log(path, read_chunks(there, path)):
            yield _below(entry, there.location) if isinstance(entry, SinkEntry) else None


def _below(entry: SinkEntry, place: Location) -> str | None:
    logged = parse_logged_path(entry.path)
    try:
        home = None if logged is None else parse_location(logged.home)
    except LocationError:
        return None
    if logged is None or home is None or not is_inside(home, place):
        return None
    return posixpath.join(home.path[len(place.path) :].strip("/"), logged.name)


def _sidecars(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        directory, name = posixpath.split(path)
        yield posixpath.join(directory, f".{name}.crc")


def _log_files(there: Reader, batch: int) -> Iterator[str]:
    """Yield the files of the log that are of later batches, with their checksums."""
    for info in walk_in_order(there, DIRECTORY):
        name = info.path.rpartition("/")[2].removeprefix(".").removesuffix(".crc")
        number = name.removesuffix(".compact")
        if number.isdecimal() and int(number) > batch:
            yield info.path

"""Lists the directories of logged files, and finds what is there and not in the log."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from holdfast.checkpoint.file_sink import DIRECTORY
from holdfast.checkpoint.sources.files import parse_file_log
from holdfast.checkpoint.sources.read import SourceLog
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import HoldfastError
from holdfast.formats.logged_paths import is_data_name, parse_logged_path, show_path
from holdfast.sources.files.found import MAX_FILE_AGE, Listed
from holdfast.sources.files.scan import LogScan, log_paths
from holdfast.storage.read import Reader, read_chunks

DIRECTORIES = 20
"""Of those with logged files, evenly chosen."""
_BEFORE_LOG = DIRECTORY[:-1]
"""A page that begins after this name shows the log of a file sink first, if there is one."""
PAGES = 3
"""Of each directory; a page has 1,000 files."""


class Listings(msgspec.Struct, kw_only=True):
    """What is in some of the directories of logged files."""

    modified_ms: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)
    """Of each file, by the location of its directory and its name."""
    is_whole: bool = True
    """Whether all directories were listed, and completely."""


def list_directories(scan: LogScan, open_at: Callable[[str], Reader]) -> Listings:
    """List directories of logged files: those of the address that is logged last."""
    root = "" if scan.last is None else scan.last.root
    homes = [each for each in scan.directories if each.startswith(f"{root}/")]
    step = max(1, -(-len(homes) // DIRECTORIES))
    found = Listings(is_whole=step == 1)
    for home in homes[::step]:
        _list(home, found, open_at)
    return found


def compare_with_log(
    scan: LogScan,
    listings: Listings,
    log: SourceLog,
    *,
    checkpoint: Reader,
    open_at: Callable[[str], Reader],
) -> Listed:
    """Say what lies in the directories of the logged files, and is not in the log.

    Nothing when the log was not read completely: then what is in it is not known. Nothing either
    when another query's file sink writes the directory: Spark reads what the log there lists.
    """
    data = {
        each: modified for each, modified in listings.modified_ms.items() if is_data_name(each[1])
    }
    if not scan.is_whole or scan.unparsed or scan.newest is None:
        return Listed(files=len(data), is_whole=False)
    files = len(data)
    _drop_logged(data, log, checkpoint)
    oldest_ms = scan.newest[1].timestamp_ms - int(MAX_FILE_AGE.total_seconds() * 1000)
    too_old = [each for each, modified in data.items() if modified < oldest_ms]
    if too_old and _is_sink_output(scan, open_at):
        return Listed(files=files, is_whole=False)
    return Listed(
        files=files,
        waiting=len(data) - len(too_old),
        too_old=len(too_old),
        first_too_old=show_path("/".join(min(too_old))) if too_old else "",
        is_whole=listings.is_whole,
    )


def _is_sink_output(scan: LogScan, open_at: Callable[[str], Reader]) -> bool:
    """Return whether the files are those of a file sink: its log is above their partitions."""
    root = "" if scan.last is None else scan.last.root
    directory = scan.common or ""
    while True:
        try:
            page = open_at(f"{root}{directory or '/'}").list_after("", _BEFORE_LOG)
        except HoldfastError:
            return False
        if DIRECTORY in page.directories:
            return True
        directory, _, name = directory.rpartition("/")
        if "=" not in name:
            return False


def _list(home: str, found: Listings, open_at: Callable[[str], Reader]) -> None:
    after: str | None = ""
    try:
        reader = open_at(home)
        for _ in range(PAGES):
            if after is None:
                break
            page = reader.list_after("", after)
            after = page.next_after
            for info in page.files:
                found.modified_ms[home, info.path] = int(info.modified.timestamp() * 1000)
    except HoldfastError:
        found.is_whole = False
        return
    found.is_whole = found.is_whole and after is None


def _drop_logged(data: dict[tuple[str, str], int], log: SourceLog, checkpoint: Reader) -> None:
    """Leave only files that the log does not name: a second pass over it."""
    names = {name for _, name in data}
    for path, _ in log_paths(log) if names else ():
        for entry in parse_file_log(path, read_chunks(checkpoint, path)):
            if isinstance(entry, Unparsed):
                continue
            name = entry.path.rpartition("/")[2]
            logged = parse_logged_path(entry.path) if name in names or "%" in name else None
            if logged is not None:
                data.pop((logged.home, logged.name), None)

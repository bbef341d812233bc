"""Files that a file source has read and that are not there any more.

A stream that begins again reads what its directory has now. What was cleaned up since, by
`cleanSource` or by a lifecycle rule, is only in the output that a reset empties.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.checkpoint.sources.files import FileEntry
from holdfast.errors import HoldfastError
from holdfast.formats.logged_paths import parse_logged_path, show_path
from holdfast.plan.goals.read_log import read_source_files
from holdfast.plan.plan_file import Change, NoPlan
from holdfast.plan.world import StreamNow
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader
from holdfast.wording import count

_MOST_DIRECTORIES = 1_000
_UNKNOWN = "whether every file that source {} has read is still there is not known: {}"


def find_gone_files(now: StreamNow, source: str, newest: int) -> tuple[Change, ...]:
    """Return what a stream cannot read again, because its files are gone.

    Args:
        now: The stream.
        source: The file source.
        newest: The number of its log that was read last.
    """
    entries = read_source_files(now, source, newest)
    if isinstance(entries, NoPlan):
        return _not_known(source, "its log does not have every entry any more")
    by_home = _by_home(entries)
    if by_home is None:
        return _not_known(source, "its log names a file by a path that cannot be read")
    if len(by_home) > _MOST_DIRECTORIES:
        return _not_known(source, f"it has read {count(len(by_home), 'directory')}")
    gone = 0
    for home, names in by_home.items():
        try:
            listed = open_reader(parse_location(home), now.options).list().files
        except HoldfastError as error:
            return _not_known(source, f"{show_path(home)} cannot be listed: {error.why}")
        gone += len(names - {info.path for info in listed})
    if not gone:
        return ()
    verb = "was" if gone == 1 else "were"
    what = f"{count(gone, 'file')} that {verb} read before cannot be read again: gone for good"
    return (Change(kind="loses", what=what, amount=gone, unit="file"),)


def _by_home(entries: Iterable[FileEntry]) -> dict[str, set[str]] | None:
    """Return the names of the files in each directory; None if a path has no meaning."""
    found: dict[str, set[str]] = {}
    for each in entries:
        path = parse_logged_path(each.path)
        if path is None:
            return None
        found.setdefault(path.home, set()).add(path.name)
    return found


def _not_known(source: str, why: str) -> tuple[Change, ...]:
    return (Change(kind="loses", what=_UNKNOWN.format(source, why.rstrip("."))),)

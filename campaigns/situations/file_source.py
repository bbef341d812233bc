"""Situations of the file source: what it has logged, and what became of the files."""

from __future__ import annotations

from dataclasses import replace

from campaigns.situations.file_streams import FileStream
from campaigns.situations.situation import Bench, Shown, Situation


def _begin(bench: Bench, source: str = "in") -> FileStream:
    """Return a stream that has run two batches, with the numbers 1 to 4."""
    stream = FileStream(bench=bench, source=source)
    for directory in source.removesuffix("/*").split("+"):
        name = directory.removesuffix("/*")
        stream.put(f"{name}/1.json", [1, 2])
    if stream.run():
        raise AssertionError("the healthy stream failed")
    stream.put(f"{source.partition('/')[0]}/2.json", [3, 4])
    stream.run()
    return stream


def pending_files_gone(bench: Bench) -> Shown:
    """Kill the driver before the sink has batch 1, and delete an input file of that batch."""
    stream = FileStream(bench=bench)
    stream.put("in/1.json", [1, 2])
    stream.run()
    stream.put("in/2.json", [3, 4, 5])
    stream.put("in/3.json", [6])
    stream.run()
    stream.forget("checkpoint/commits/1", "out/_spark_metadata/1")
    healthy = stream.judge()
    (stream.place / "in/2.json").unlink()
    return stream.restart(range(1, 7), healthy=healthy, said=stream.judge())


def old_files_ignored(bench: Bench) -> Shown:
    """Add a file with a modification time of eight days ago."""
    stream = _begin(bench)
    healthy = stream.judge()
    stream.put("in/late.json", [5, 6, 7], days=-8)
    return stream.restart(range(1, 8), healthy=healthy, said=stream.judge())


def future_timestamp(bench: Bench) -> Shown:
    """Add a file from thirty days ahead; after it has been read, another one arrives."""
    stream = _begin(bench)
    healthy = stream.judge()
    stream.put("in/future.json", [5], days=30)
    stream.run()
    said = stream.judge()
    stream.put("in/now.json", [6, 7])
    return stream.restart(range(1, 8), healthy=healthy, said=said)


def files_changed(bench: Bench) -> Shown:
    """Append to a file that was read."""
    stream = _begin(bench)
    healthy = stream.judge()
    stream.put("in/2.json", [3, 4, 5, 6], days=1 / 24)
    return stream.restart(range(1, 7), healthy=healthy, said=stream.judge())


def path_changed(bench: Bench) -> Shown:
    """Read the same files through a link, with a pattern."""
    stream = _begin(bench, "in/*")
    healthy = stream.judge()
    (stream.place / "mount").symlink_to(stream.place / "in")
    moved = replace(stream, source="mount/*")
    return moved.restart(range(1, 5), healthy=healthy, said=moved.judge())


def base_path_changed(bench: Bench) -> Shown:
    """Read the same files through a link, as a directory."""
    stream = _begin(bench)
    healthy = stream.judge()
    (stream.place / "mount").symlink_to(stream.place / "in")
    moved = replace(stream, source="mount")
    return moved.restart(range(1, 5), healthy=healthy, said=moved.judge())


def sources_swapped(bench: Bench) -> Shown:
    """Change the order of two sources of one query."""
    stream = FileStream(bench=bench, source="in/*+other/*")
    stream.put("in/1.json", [1, 2])
    stream.put("other/1.json", [3])
    stream.run()
    healthy = stream.judge()
    swapped = replace(stream, source="other/*+in/*")
    return swapped.restart(range(1, 4), healthy=healthy, said=swapped.judge())


SITUATIONS = (
    Situation(
        name="file-source-pending-files-gone",
        code="HF370",
        make=pending_files_gone,
    ),
    Situation(
        name="file-source-old-files-ignored",
        code="HF371",
        make=old_files_ignored,
        trap="A file arrives with an old modification time and is never read.",
    ),
    Situation(
        name="file-source-future-timestamp",
        code="HF372",
        make=future_timestamp,
        trap="One file with a time in the future hides every file that arrives after it.",
    ),
    Situation(name="file-source-files-changed", code="HF373", make=files_changed),
    Situation(
        name="file-source-path-changed",
        code="HF374",
        make=path_changed,
        trap="The input directory gets another address, and every file is read again.",
    ),
    Situation(name="file-source-base-path-changed", code="HF375", make=base_path_changed),
    Situation(name="file-source-sources-swapped", code="HF374", make=sources_swapped),
)

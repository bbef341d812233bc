"""How long a tree of small files takes to copy, beside bare copies of the same files.

    python -m benchmarks.snapshot_speed [--files N]... [--turns N] [--store S3|disk]...

On the lab's S3 server, `copy_tree` has the server copy each object; beside it, obstore's own copies
of the same objects, as many at a time. On disk, `copy_tree` syncs each file; beside it, `cp -a`,
once as it is and once with a `sync` of its files. Both take turns, into a new place each time. The
time of `copy_tree` contains its listings and the verification afterwards.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click
import obstore

from benchmarks.measuring import exit_when_missed, in_turns, ratios, spread
from holdfast.cli.table import columns
from holdfast.storage.copying import WORKERS, copy_tree
from holdfast.storage.options import from_hadoop
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer, open_writer
from lab import S3
from lab.scratch import scratch_directory

FILES = (1_000, 5_000, 22_000)
FILE = b"x" * 700
PER_DIRECTORY = 500
TURNS = 3
AIM = 2.0
"""Times as long as bare copies, at most, with the most files, on S3."""
OURS = "copy_tree"
STORES = ("disk", "S3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Seconds of each way to copy so many files, turn by turn."""

    store: str
    files: int
    seconds: dict[str, list[float]]

    def rows(self) -> list[tuple[str, ...]]:
        """Return one line for each way, with its ratio to `copy_tree`'s."""
        found: list[tuple[str, ...]] = []
        for way, taken in self.seconds.items():
            each = spread(taken).median / self.files * 1e6
            times = "" if way == OURS else ratios(self.seconds[OURS], taken).show(2)
            shown = spread(taken).show(2)
            found.append((self.store, f"{self.files:,}", way, shown, f"{each:,.0f}", times))
        return found


def paths(files: int) -> list[str]:
    """Return the files of a tree, in directories as state has them."""
    return [f"state/0/{number // PER_DIRECTORY}/{number}.delta" for number in range(files)]


def fill(writer: Writer, files: int) -> None:
    """Write a tree."""
    with ThreadPoolExecutor(WORKERS) as pool:
        deque(pool.map(lambda path: writer.put(path, FILE), paths(files)), maxlen=0)


def copy_all(source: Reader, target: Writer, *, files: int) -> None:
    """Copy a tree, and see that all of it was."""
    *_, last = copy_tree(source, target)
    assert last.copied == last.verified == files, last


def copy_bare(store: obstore.store.S3Store, source: str, target: str, *, files: int) -> None:
    """Copy the same objects by obstore alone, as many at a time."""

    async def run() -> None:
        free = asyncio.Semaphore(WORKERS)

        async def copy(path: str) -> None:
            async with free:
                await obstore.copy_async(store, f"{source}/{path}", f"{target}/{path}")

        await asyncio.gather(*map(copy, paths(files)))

    asyncio.run(run())


def measure_s3(s3: S3, *, files: int, turns: int) -> Figures:
    """Copy within the bucket, in turns."""
    options = from_hadoop(s3.spark_settings(), bucket="lake")
    source = open_writer(f"s3a://lake/{files}/from", options)
    fill(source, files)
    numbers = itertools.count()

    def ours() -> None:
        target = open_writer(f"s3a://lake/{files}/to-{next(numbers)}", options)
        copy_all(source, target, files=files)

    def bare() -> None:
        copy_bare(s3.store(), f"{files}/from", f"{files}/bare-{next(numbers)}", files=files)

    return Figures(
        store="S3", files=files, seconds=in_turns({OURS: ours, "bare copies": bare}, turns)
    )


def measure_disk(home: Path, *, files: int, turns: int) -> Figures:
    """Copy on disk, in turns."""
    source = home / "from"
    for path in paths(files):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(FILE)
    os.sync()

    numbers = itertools.count()

    def to_new(copy: Callable[[str], None]) -> Callable[[], None]:
        return lambda: copy(str(home / f"to-{next(numbers)}"))

    def run(*command: str) -> None:
        subprocess.run(command, check=True)

    def synced(target: str) -> None:
        run("cp", "-a", str(source), target)
        run("sync", "--file-system", target)

    ways: dict[str, Callable[[], object]] = {
        OURS: to_new(lambda to: copy_all(open_writer(str(source)), open_writer(to), files=files)),
        "cp -a": to_new(lambda to: run("cp", "-a", str(source), to)),
        "cp -a, sync": to_new(synced),
    }
    figures = Figures(store="disk", files=files, seconds=in_turns(ways, turns))
    for directory in home.iterdir():
        shutil.rmtree(directory)
    return figures


def missed(found: Sequence[Figures]) -> list[str]:
    """Return which aims were missed: that on S3, with the most files."""
    on_s3 = sorted((e for e in found if e.store == "S3"), key=lambda each: each.files)
    times = [ratios(each.seconds[OURS], each.seconds["bare copies"]).median for each in on_s3]
    return [f"x {each:.2f} of bare copies, aim {AIM}" for each in times[-1:] if each > AIM]


@click.command(help=__doc__)
@click.option("--files", multiple=True, type=int, default=FILES, show_default=True)
@click.option("--turns", default=TURNS, show_default=True)
@click.option("--store", "stores", multiple=True, type=click.Choice(STORES), default=STORES)
def main(*, files: Sequence[int], turns: int, stores: Sequence[str]) -> None:
    """Measure, print, and end with 1 when the aim was missed."""
    found: list[Figures] = []
    with ExitStack() as stack:
        s3 = stack.enter_context(S3()) if "S3" in stores else None
        home = stack.enter_context(scratch_directory())
        for count in files:
            if "disk" in stores:
                found.append(measure_disk(home, files=count, turns=turns))
            if s3 is not None:
                found.append(measure_s3(s3, files=count, turns=turns))
            print(f"{count:,} files are measured", flush=True)
    rows: list[tuple[str, ...]] = [
        ("store", "files", "by", "seconds", "µs each", "copy_tree takes so many times as long")
    ]
    rows += [row for each in found for row in each.rows()]
    print(f"Median (lowest to highest) of {turns}, {WORKERS} at a time", *columns(rows), sep="\n  ")
    exit_when_missed(missed(found))


if __name__ == "__main__":
    main()

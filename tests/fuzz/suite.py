"""The whole suite: every part of it, what it counts, and how a single case is repeated."""

from __future__ import annotations

import faulthandler
import multiprocessing
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.damages import Damage, parse_damage, random_flip, shortenings
from tests.fuzz.hostile.cases import CASES
from tests.fuzz.hostile.judge import try_hostile
from tests.fuzz.parsers import parser_of
from tests.fuzz.processes import try_process
from tests.fuzz.runs import RunCase, choose_runs, try_inspect
from tests.fuzz.specimens import Specimen, distinct_files
from tests.fuzz.trials import Failure, try_parser
from tests.unit.checkpoint.archives import open_archive

FLIPS = 10_000
RUNS = 300
PROCESSES = 10
CORES = 2
_BATCH = 8
_STUCK_S = 300.0


@dataclass(slots=True)
class Tally:
    """How many cases of each kind there were, and what failed."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind of file, or by part of the suite, and kind of damage or outcome."""
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take up what another counted."""
        self.counts += other.counts
        self.failures += other.failures


def choose_flips(seed: int) -> dict[int, list[Damage]]:
    """Return bits to turn over, by the place of their file among the distinct ones."""
    chance = random.Random(seed)
    specimens = distinct_files()
    places = [place for place, each in enumerate(specimens) if each.raw]
    chosen: dict[int, list[Damage]] = {}
    for _ in range(FLIPS):
        place = chance.choice(places)
        chosen.setdefault(place, []).append(random_flip(specimens[place].raw, chance))
    return chosen


def run_parsers(seed: int) -> Iterator[Tally]:
    """Put every distinct file, damaged in every way, through its own parser."""
    flips = choose_flips(seed)
    work = [(place, flips.get(place, [])) for place in range(len(distinct_files()))]
    yield from _side_by_side(_try_file, work)


def _try_file(work: tuple[int, list[Damage]]) -> Tally:
    place, flips = work
    specimen = distinct_files()[place]
    tally = Tally()
    # The limit of a case cannot interrupt a library: one that is stuck ends the process.
    faulthandler.dump_traceback_later(_STUCK_S, exit=True)
    for damage in (*shortenings(specimen.raw), *flips):
        tally.counts[specimen.parser.kind, damage.kind] += 1
        if failure := try_parser(specimen, damage):
            tally.failures.append(failure)
    faulthandler.cancel_dump_traceback_later()
    return tally


def run_inspections(seed: int) -> Iterator[Tally]:
    """Inspect checkpoints in which one file is damaged."""
    yield from _side_by_side(_try_run, choose_runs(RUNS, seed))


def _try_run(case: RunCase) -> Tally:
    told = try_inspect(case)
    if isinstance(told, Failure):
        return Tally(Counter({("inspect", "failed"): 1}), [told])
    return Tally(Counter({("inspect", told): 1}))


def run_processes(seed: int) -> Iterator[Tally]:
    """Inspect some of them by the command itself."""
    for case in choose_runs(PROCESSES, seed):
        with tempfile.TemporaryDirectory() as place:
            yield _tally("process", try_process(case, Path(place)))


def run_hostile(seed: int) -> Iterator[Tally]:  # noqa: ARG001 - nothing in them is random
    """Inspect every hostile checkpoint."""
    for case in CASES.values():
        place = Path(tempfile.mkdtemp())
        yield _tally(case.name.partition(":")[0], try_hostile(case, place))


def _tally(part: str, failure: Failure | None) -> Tally:
    kind = "passed" if failure is None else "failed"
    return Tally(Counter({(part, kind): 1}), [] if failure is None else [failure])


def _side_by_side(attempt: Callable[..., Tally], work: Iterable[object]) -> Iterator[Tally]:
    # Forked, so that the archives are unpacked once.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(CORES, mp_context=context) as pool:
        yield from pool.map(attempt, work, chunksize=_BATCH)


PARTS: dict[str, Callable[[int], Iterator[Tally]]] = {
    "hostile": run_hostile,
    "parser": run_parsers,
    "inspect": run_inspections,
    "process": run_processes,
}


def repeat(name: str) -> Failure | None:
    """Repeat a single case by the name that its failure gave.

    Raises:
        ValueError: There is no such case.
    """
    part, _, rest = name.partition(":")
    if part == "hostile":
        if rest not in CASES:
            raise ValueError(f"there is no hostile checkpoint named {rest!r}")
        return try_hostile(CASES[rest], Path(tempfile.mkdtemp()))
    specimen, damage = _find(rest)
    if part == "parser":
        return try_parser(specimen, damage)
    case = RunCase(specimen=specimen, damage=damage)
    if part == "process":
        with tempfile.TemporaryDirectory() as place:
            return try_process(case, Path(place))
    if part != "inspect":
        raise ValueError(f"no part of the suite is named {part!r}")
    told = try_inspect(case)
    return told if isinstance(told, Failure) else None


def _find(text: str) -> tuple[Specimen, Damage]:
    """Return the file and the damage of `<archive>:<path>:<kind>:<at>`."""
    archive, _, rest = text.partition(":")
    path, kind, at = rest.rsplit(":", 2)
    opened = open_archive(archive)
    raw = {**opened.checkpoint.files, **opened.output.files}[path]
    specimen = Specimen(archive=archive, path=path, raw=raw, parser=parser_of(path, raw))
    return specimen, parse_damage(f"{kind}:{at}")

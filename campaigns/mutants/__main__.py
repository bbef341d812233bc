"""Mutants of the ledger and the sinks' protocol: how many the tests notice, and which they do not.

mutmut changes one thing at a time in the code that decides, writes, fences and commits. The tests
that come by it must fail: the unit tests, those on a real PostgreSQL, and on Spark those of what
only Spark can show. Wordings are left as they are. Needs mutmut (`pip install mutmut==3.8.0`).

    python -m campaigns.mutants                        all, from the beginning
    python -m campaigns.mutants --again                those that were left over
    python -m campaigns.mutants ledger/ sinks/delta/   some modules
    python -m campaigns.mutants --sample 300 --seed 7  some mutants of all modules, drawn by chance
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from campaigns.mutants.tried import KILLED, SAME_SQL, TIMED_OUT, find_changes
from lab import Postgres

MUTANTS = Path("mutants")
SOURCES = Path("src", "holdfast")
ENOUGH = 0.9
FATES = ("killed", "endless", "same SQL", "left over")
TESTS = (
    "tests/unit/ledger",
    "--ignore=tests/unit/ledger/test_model.py",  # a wrong decision keeps it busy for minutes
    "--ignore=tests/unit/ledger/test_strangers.py",  # likewise
    "tests/unit/sinks",
    "tests/spark/test_postgres_write.py",
    "tests/spark/test_postgres_ledger.py",
    "tests/spark/test_postgres_protocol.py",
    "tests/spark/test_postgres_fence_held.py",
    "tests/spark/test_postgres_task.py",
    "tests/spark/test_postgres_sink.py",
    "tests/spark/test_postgres_lost_answer.py",
    "tests/spark/test_postgres_settle.py",
    "tests/spark/test_postgres_witness.py",
    "tests/spark/test_postgres_parts.py",
    "tests/spark/test_postgres_attach.py",
    "tests/spark/test_postgres_attach_plans.py",
)
ON_SPARK = (
    "tests/spark/test_delta_commit.py",
    "tests/spark/test_delta_sink.py",
    "tests/spark/test_delta_tables.py",
    "tests/spark/test_delta_names.py",
    "tests/spark/test_large_batches.py",
    "tests/spark/test_parallel_batches.py",
    "tests/spark/test_postgres_collect.py",
    "tests/spark/test_delta_traps.py",
    "tests/spark/test_delta_nested.py",
    "tests/spark/test_delta_features.py",
    "tests/spark/test_postgres_exact.py",
    "tests/spark/test_postgres_targets.py",
    "tests/spark/test_prove.py",
    "tests/spark/test_prove_tables.py",
    "tests/spark/test_prove_postgres.py",
    "tests/spark/test_repair.py",
    "tests/spark/test_files_traps.py",
    "tests/spark/test_files_values.py",
    "tests/spark/test_sink_contract.py::TestDelta",
    "tests/spark/test_sink_contract.py::TestPostgres",
    "tests/spark/test_sink_contract.py::TestFiles",
)
_MAKE = """\
from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants
copy_src_dir()
copy_also_copy_files()
create_mutants(1)
"""


def main() -> int:
    """Make the mutants, try them, and print what became of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("modules", nargs="*", default=["ledger/", "sinks/"])
    parser.add_argument("--again", action="store_true", help="try again those that were left over")
    parser.add_argument("--sample", type=int, help="try so many mutants, drawn by chance")
    parser.add_argument("--seed", type=int, default=1, help="what the sample is drawn with")
    options = parser.parse_args()
    if not options.again:
        shutil.rmtree(MUTANTS, ignore_errors=True)
    MUTANTS.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-c", _MAKE], check=True, stdout=subprocess.DEVNULL)
    metas = sorted(find_metas(options.modules))
    if options.sample and not options.again:
        draw_sample(metas, options.sample, seed=options.seed)
    for tests in (TESTS, ON_SPARK):
        left = [meta for meta in metas if any(find_changes(meta))]
        if left:
            with Postgres() as postgres:
                try_mutants(left, tests, port=postgres.port)
    return report(metas)


def find_metas(modules: list[str]) -> Iterator[Path]:
    """Yield the files in which mutmut keeps what became of the mutants of a module."""
    for meta in (MUTANTS / SOURCES).rglob("*.py.meta"):
        name = str(meta.relative_to(MUTANTS / SOURCES))
        if any(name.startswith(each) for each in modules):
            yield meta


def draw_sample(metas: list[Path], count: int, *, seed: int) -> None:
    """Leave only so many mutants in the files; `--again` then tries the same ones."""
    found = {meta: json.loads(meta.read_text()) for meta in metas}
    everything = [(meta, name) for meta in metas for name in found[meta]["exit_code_by_key"]]
    drawn = set(random.Random(seed).sample(everything, min(count, len(everything))))  # noqa: S311 - a test
    print(f"{len(drawn):,} of {len(everything):,} mutants, drawn with seed {seed}", flush=True)
    for meta, content in found.items():
        codes = content["exit_code_by_key"]
        content["exit_code_by_key"] = {name: codes[name] for name in codes if (meta, name) in drawn}
        meta.write_text(json.dumps(content))


def try_mutants(metas: list[Path], tests: tuple[str, ...], *, port: int) -> None:
    """Try what is left over, in a process that knows only the mutated code."""
    environment = {**os.environ, "HOLDFAST_POSTGRES_PORT": str(port), "HOLDFAST_ALL": "1"}
    environment.pop("PYTHONPATH", None)
    names = [str(meta.relative_to(MUTANTS)) for meta in metas]
    command = [sys.executable, "-m", "campaigns.mutants.tried", *names, "--", *tests]
    subprocess.run(command, check=True, cwd=MUTANTS, env=environment)


def report(metas: list[Path]) -> int:
    """Print the figures of each module and the change that each survivor makes."""
    total: Counter[str] = Counter()
    print(f"{'module':24}{'mutants':>10}" + "".join(f"{fate:>10}" for fate in FATES))
    for meta in metas:
        codes = json.loads(meta.read_text())["exit_code_by_key"].values()
        found = Counter(_fate(code) for code in codes)
        total += found
        if found:
            _print_line(str(meta.relative_to(MUTANTS / SOURCES)).removesuffix(".py.meta"), found)
    _print_line("all", total)
    for meta in metas:
        for name, change in find_changes(meta):
            print("", name, *change, sep="\n")
    share = (total["killed"] + total["endless"]) / total.total()
    print(f"\n{share:.1%} of {total.total():,} mutants noticed")
    return 0 if share >= ENOUGH else 1


def _fate(code: int | None) -> str:
    fates = {KILLED: "killed", TIMED_OUT: "endless", SAME_SQL: "same SQL"}
    return fates.get(code or 0, "left over")


def _print_line(name: str, found: Counter[str]) -> None:
    fates = "".join(f"{found[fate]:>10,}" for fate in FATES)
    print(f"{name:24}{found.total():>10,}{fates}")


if __name__ == "__main__":
    sys.exit(main())

"""Random histories of runs, kills and repairs; what is found is shrunk and printed.

    python -m campaigns.histories [--where memory|postgres|spark] [--count N] [--seed S] [--shrink]
    python -m campaigns.histories --replay 7:412
    python -m campaigns.histories --replay tests/unit/apply/histories/one.json
    python -m campaigns.histories --planted

A history is a stream with one or two sinks and up to about fifteen operations: runs and kills,
plans of every goal, applies that are killed at any point, continued and taken back, rows of another
stream and of strangers, changes of the table, deleted and restored checkpoints, second drivers.
After each operation an oracle says which rows must be in each table; what is refused must have
changed nothing; and what a refusal prints must lead to a start. In memory everything of Holdfast is
real but Spark and the tables; on PostgreSQL the tables are too; on Spark all is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from campaigns.histories.backend import Backend
from campaigns.histories.campaign import Campaign, scratch
from campaigns.histories.generate import all_of, generate
from campaigns.histories.history import History, from_json
from campaigns.histories.memory_backend import MemoryBackend
from campaigns.histories.planted import find_plants
from campaigns.histories.process import one_process

PROGRESS_S = 30
"""Between two lines about how far it is."""


def main() -> int:
    """Play histories; exit 1 when something was found."""
    given = _parse()
    with ExitStack() as stack:
        home = stack.enter_context(scratch())
        backend = stack.enter_context(_BACKENDS[given.where]())
        stack.enter_context(one_process())
        campaign = Campaign(
            home=home, backend=backend, shrinks=given.shrink, machine=backend.machine
        )
        if given.replay:
            return _replay(campaign, _history(given.replay))
        if given.planted:
            return find_plants(campaign, seed=given.seed, most=given.count, where=given.where)
        told = campaign.tally.seconds
        for each in all_of(given.seed, given.count, first=given.first):
            found = campaign.add(each)
            if campaign.tally.seconds - told > PROGRESS_S:
                told = campaign.tally.seconds
                print(f"so far {campaign.tally}", file=sys.stderr, flush=True)
            if found is not None:
                _say(campaign, each, found)
                if given.keep is not None:
                    _keep(campaign, found, given.keep / each.name.replace(":", "-"))
    print(f"{given.where}, seed {given.seed}: {campaign.tally}")
    return 1 if campaign.tally.holes else 0


@contextmanager
def _memory() -> Iterator[Backend]:
    yield MemoryBackend()


@contextmanager
def _postgres() -> Iterator[Backend]:
    from campaigns.histories.postgres_tables import PostgresBackend  # noqa: PLC0415 - psycopg
    from lab.postgres import Postgres  # noqa: PLC0415

    with Postgres() as server:
        backend = PostgresBackend(server.create_database("histories"))
        try:
            yield backend
        finally:
            backend.close()


@contextmanager
def _spark() -> Iterator[Backend]:
    from campaigns.histories.spark_world import spark_backend  # noqa: PLC0415 - PySpark

    with spark_backend() as backend:
        yield backend


_BACKENDS = {"memory": _memory, "postgres": _postgres, "spark": _spark}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="campaigns.histories", description=__doc__)
    parser.add_argument("--where", choices=("memory", "postgres", "spark"), default="memory")
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0, help="the index of the first one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--keep", type=Path, help="a directory for what is found")
    parser.add_argument("--replay", help="seed:index, a file, or the JSON itself")
    parser.add_argument("--planted", action="store_true", help="find bugs that are put in")
    return parser.parse_args()


def _history(text: str) -> History:
    if text.lstrip().startswith("{"):
        return from_json(text)
    if Path(text).is_file():
        return from_json(Path(text).read_text())
    seed, _, index = text.partition(":")
    return generate(int(seed), int(index))


def _replay(campaign: Campaign, history: History) -> int:
    played = campaign.play(history)
    print(history.to_json())
    print("\n".join(played.told))
    print("\n".join(map(str, played.wrong)) or "held")
    return 1 if played.wrong else 0


def _say(campaign: Campaign, history: History, found: str) -> None:
    short, played = campaign.tally.holes[found]
    print(f"\nHOLE {found}  (history {campaign.tally.played}, {history.name})")
    for each in played.wrong[:3]:
        print(f"  {each}")
    print(short.to_json(), flush=True)


def _keep(campaign: Campaign, found: str, at: Path) -> None:
    """Keep a hole: its history, and what happened in it."""
    at.parent.mkdir(parents=True, exist_ok=True)
    short, played = campaign.tally.holes[found]
    name = f"{at.parent}/{played.kind}-{at.name}"
    Path(f"{name}.json").write_text(short.to_json())
    said = "\n".join(map(str, played.wrong[:3]))
    told = "\n".join(played.told)
    Path(f"{name}.txt").write_text(f"{found}\n{said}\n\n{told}\n")


if __name__ == "__main__":
    sys.exit(main())

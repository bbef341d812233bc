"""What dies in the soak and when, drawn by the seed, and how a driver's life went until then."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import click

from lab import S3, Kafka, Postgres
from lab.errors import ServerDidNotStartError
from lab.server import Server

LEAST_SECONDS, MOST_SECONDS = 20.0, 60.0
MOST_LATER_SECONDS = 10.0
MOMENTS_PER_SERVER_KILL = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """What dies, and how long after the start or the strike before."""

    after_seconds: float
    later_seconds: float
    """How long after it has served, when that is waited for."""
    server: str = ""
    """Empty: the driver alone."""
    driver: str = "alone"
    """Dies `alone`, `with` the server, `after` it is back, or is `spared`."""

    @property
    def dies(self) -> list[str]:
        """What is killed."""
        driver = [] if self.driver == "spared" else ["driver"]
        return [self.server, *driver] if self.server else driver

    def __str__(self) -> str:
        return f"{self.server} killed, the driver {self.driver}" if self.server else "driver killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """How one run of the driver went."""

    told: str
    seconds: float
    batches: int
    """That reached every sink."""
    first_commit_seconds: float | None
    served: bool
    """Something came through to PostgreSQL."""
    was_waited_for: bool
    """The run before it was in vain: this one was killed only when it had served."""
    failed_unasked: bool
    """It ended by itself, though no server had died."""


def draw_strikes(seed: int) -> Iterator[Strike]:
    """Draw what dies when, for ever; every server has its turn."""
    choose = random.Random(seed)  # noqa: S311 - it must be replayable
    names = [Kafka.name, Postgres.name, S3.name]
    choose.shuffle(names)
    servers = 0
    while True:
        after = choose.uniform(LEAST_SECONDS, MOST_SECONDS)
        strike = Strike(after_seconds=after, later_seconds=choose.uniform(0.0, MOST_LATER_SECONDS))
        if choose.randrange(MOMENTS_PER_SERVER_KILL) == 0:
            how = choose.choice(("with", "after", "spared"))
            strike = replace(strike, server=names[servers % len(names)], driver=how)
            servers += 1
        yield strike


def bring_back(server: Server) -> None:
    """Start a server that was killed; a loaded machine may need more than one try."""
    for _ in range(2):
        try:
            server.start()
        except ServerDidNotStartError as error:
            click.echo(f"{server.name} is started again: {error.why}", err=True)
        else:
            return
    server.start()

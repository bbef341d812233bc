"""The options of `holdfast drill run`, and the drills that follow from them."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.clock import now
from holdfast.drills.limits import SECONDS
from holdfast.errors import ConfigError
from holdfast.named import make_importable

if TYPE_CHECKING:
    from holdfast.drills.drill import Drilled
    from holdfast.drills.phases import Phase
    from holdfast.drills.summary import About

_LOG = logging.getLogger("holdfast.drills")


@dataclass(frozen=True, kw_only=True)
class DrillOptions:
    """The options, as they were given."""

    targets: tuple[str, ...]
    is_all: bool
    source_sample: Path | None
    read: str | None
    checkpoint: str | None
    only: tuple[str, ...]
    kill_at: tuple[str, ...]
    dsn: str | None
    sample: int | None
    seed: int
    directory: Path | None
    timeout: float
    form: str

    @cached_property
    def _began(self) -> datetime:
        return now().astimezone()  # the clock that its user looks at

    @cached_property
    def place(self) -> Path:
        """Where everything is kept: a directory that is not there yet, or empty.

        Raises:
            ConfigError: Something is in it; an old checkpoint would pass for a new one.
        """
        place = (self.directory or Path(f"drill-{self._began:%Y-%m-%d-%H%M%S}")).resolve()
        if place.exists() and not (place.is_dir() and next(place.iterdir(), None) is None):
            raise ConfigError(f"{place} is not empty: a drill needs a directory of its own.")
        return place

    @cached_property
    def about(self) -> About:
        """What the summary says besides what the drills showed."""
        from holdfast.drills.summary import About  # noqa: PLC0415

        title = " ".join(self.targets) or "all built-in drills"
        command = shlex.join(self.command())
        return About(target=title, began=self._began, seed=self.seed, command=command)

    @property
    def is_user_stream(self) -> bool:
        """Whether this is a drill of the user's own stream."""
        return any(":" in target for target in self.targets)

    def run(self) -> Iterator[Drilled]:
        """Run the drills; yield what each one showed.

        Raises:
            ConfigError: The options do not fit together.
        """
        if bool(self.targets) == self.is_all:
            raise ConfigError(
                "Name your stream as MODULE:NAME, or name built-in drills, or pass --all."
            )
        if not self.is_user_stream:
            self._refuse_user_stream_options()
            yield from self._builtin()
        elif len(self.targets) > 1:
            raise ConfigError("Drill one of your streams at a time.")
        else:
            yield from self._user_stream()

    def _refuse_user_stream_options(self) -> None:
        """Refuse options that built-in drills would ignore."""
        given = {
            "--kill-at": self.kill_at,
            "--checkpoint": self.checkpoint,
            "--read": self.read,
            "--source-sample": self.source_sample,
        }
        if names := [name for name, value in given.items() if value]:
            raise ConfigError(
                f"{', '.join(names)} works only with your own stream. Built-in drills have their "
                "own phases, sources and sinks."
            )

    def again(self, drills: Sequence[str]) -> list[str]:
        """Return the command that repeats only these drills."""
        named = tuple(drills)
        if self.is_user_stream:
            return replace(self, only=named).command()
        return replace(self, targets=named, is_all=False, only=(), sample=None).command()

    def command(self) -> list[str]:
        """Return the command with these options."""
        given: dict[str, object] = {
            "--source-sample": self.source_sample,
            "--read": self.read,
            "--checkpoint": self.checkpoint,
            "--dsn": self.dsn,
            "--sample": self.sample,
            "--seed": None if self.sample is None else self.seed,
            "--timeout": None if self.timeout == SECONDS else f"{self.timeout:g}",
        }
        pairs = [(name, value) for name, value in given.items() if value is not None]
        pairs += [("--only", phase) for phase in self.only]
        pairs += [("--kill-at", point) for point in self.kill_at]
        options = [word for name, value in pairs for word in (name, str(value))]
        named = ["--all"] if self.is_all else self.targets
        return ["holdfast", "drill", "run", *named, *options]

    def _user_stream(self) -> Iterator[Drilled]:
        from holdfast.drills.user_stream import Target, drill_user_stream  # noqa: PLC0415

        make_importable(Path.cwd())
        sample = self.source_sample and self.source_sample.resolve()
        target = Target(
            start=self.targets[0],
            sample=sample,
            read=self.read,
            checkpoint=self.checkpoint,
            seconds=self.timeout,
        )
        also = self._asked_phase()
        only = self.only or [phase.name for phase in also]
        yield from drill_user_stream(target, directory=self.place, only=only, also=also)

    def _asked_phase(self) -> list[Phase]:
        """Return the phase whose kills were given one by one, if any were."""
        from holdfast.drills.phases import asked_phase  # noqa: PLC0415

        return [asked_phase(self.kill_at)] if self.kill_at else []

    def _builtin(self) -> Iterator[Drilled]:
        from holdfast.drills.builtin.cells import run_cell  # noqa: PLC0415
        from holdfast.drills.builtin.choose import choose_cells  # noqa: PLC0415
        from holdfast.sinks.secrets import reveal  # noqa: PLC0415

        cells = choose_cells(self.targets, sample=self.sample, seed=self.seed)
        cells = [cell for cell in cells if not self.only or cell.phase.name in self.only]
        if not cells:
            raise ConfigError("--only and --sample leave no drill to run.")
        if self.dsn is None and any(cell.stream.needs_database for cell in cells):
            raise ConfigError("Drills of PostgreSQL need a scratch database: --dsn env:NAME.")
        dsn = None if self.dsn is None else reveal(self.dsn)
        for number, cell in enumerate(cells, start=1):
            _LOG.info("drill %d of %d: %s", number, len(cells), cell.name)
            home = self.place / cell.name.replace("/", "--")
            yield run_cell(cell, directory=home, dsn=dsn, seconds=self.timeout)

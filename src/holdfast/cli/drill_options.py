"""What `holdfast drill run` was asked for, and the drills that follow from it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError

if TYPE_CHECKING:
    from holdfast.drills.drill import Drilled
    from holdfast.drills.phases import Phase


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
    form: str

    @cached_property
    def place(self) -> Path:
        """Where everything is kept: a directory that is not there yet, or empty.

        Raises:
            ConfigError: Something is in it; an old checkpoint would pass for a new one.
        """
        now = datetime.now()  # noqa: DTZ005 - the clock that its user looks at
        place = (self.directory or Path(f"drill-{now:%Y-%m-%d-%H%M%S}")).resolve()
        if place.exists() and not (place.is_dir() and next(place.iterdir(), None) is None):
            raise ConfigError(f"{place} is not empty: a drill needs a directory of its own.")
        return place

    @property
    def title(self) -> str:
        """What is drilled, in one line."""
        return " ".join(self.targets) or "all"

    @property
    def is_user_stream(self) -> bool:
        """Whether a stream of the user's is meant."""
        return any(":" in target for target in self.targets)

    def steps(self) -> Iterator[str | Drilled]:
        """Run the drills; yield what is done next, in words, and what each drill showed.

        Raises:
            ConfigError: What was asked for does not fit together.
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
        """Return the command that repeats these drills alone."""
        given = {
            "--source-sample": self.source_sample,
            "--read": self.read,
            "--checkpoint": self.checkpoint,
            "--dsn": self.dsn,
        }
        options = [word for name, value in given.items() if value for word in (name, str(value))]
        only = [word for name in drills for word in ("--only", name)]
        points = [word for point in self.kill_at for word in ("--kill-at", point)]
        yours = [*self.targets, *options, *only, *points]
        named = yours if self.is_user_stream else [*drills, *options]
        return ["holdfast", "drill", "run", *named]

    def _user_stream(self) -> Iterator[str | Drilled]:
        from holdfast.drills.phases import Phase  # noqa: PLC0415
        from holdfast.drills.user_stream import Target, drill_user_stream  # noqa: PLC0415

        sys.path.insert(0, str(Path.cwd()))
        sample = self.source_sample and self.source_sample.resolve()
        target = Target(
            start=self.targets[0], sample=sample, read=self.read, checkpoint=self.checkpoint
        )
        yield "undisturbed, twice"
        also = self._asked_phase()
        only = self.only or [phase.name for phase in also]
        for each in drill_user_stream(target, directory=self.place, only=only, also=also):
            yield f"killed: {each.shown}" if isinstance(each, Phase) else each

    def _asked_phase(self) -> list[Phase]:
        """Return the phase whose kills were given one by one, if any were."""
        from holdfast.drills.phases import asked_phase  # noqa: PLC0415

        return [asked_phase(self.kill_at)] if self.kill_at else []

    def _builtin(self) -> Iterator[str | Drilled]:
        from holdfast.drills.builtin.cells import run_cell  # noqa: PLC0415
        from holdfast.drills.builtin.choose import choose_cells  # noqa: PLC0415
        from holdfast.sinks.secrets import reveal  # noqa: PLC0415

        cells = choose_cells(self.targets, sample=self.sample, seed=self.seed)
        cells = [cell for cell in cells if not self.only or cell.phase.name in self.only]
        if not cells:
            raise ConfigError("No drill is left of those: see --only and --sample.")
        if self.dsn is None and any(cell.stream.needs_database for cell in cells):
            raise ConfigError("Drills of PostgreSQL need a scratch database: --dsn env:NAME.")
        dsn = None if self.dsn is None else reveal(self.dsn)
        for number, cell in enumerate(cells, start=1):
            yield f"{number} of {len(cells)}: {cell.name}"
            yield run_cell(cell, directory=self.place / cell.name.replace("/", "--"), dsn=dsn)

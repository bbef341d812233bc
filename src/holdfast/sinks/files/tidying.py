"""What the holder of a token finishes or removes: of drivers and plans that were killed.

Everything here can be repeated, and is done by whoever has just fenced the sink. A plan that is
paused in the middle of it and replaced changes nothing any more: it moves batches into and out of
the directory of its token, and that was renamed.
"""

from __future__ import annotations

import posixpath
import uuid

import msgspec

from holdfast.ledger.output import CannotSettleError
from holdfast.sinks.files.directory import Directory, State
from holdfast.sinks.files.layout import (
    COMING,
    GOING,
    BatchName,
    Places,
    batches_of,
    epoch_staged,
)

_STRAY = "holdfast.kept_stray"
"""Where batches go that no record tells of: somebody has put them there."""


class Tidying(msgspec.Struct, frozen=True, kw_only=True):
    """Brings one stream to what its record says."""

    directory: Directory
    state: State

    @property
    def _places(self) -> Places:
        return self.directory.places(self.state.row.stream)

    def run(self) -> None:
        """Finish what was begun, and remove what nobody can publish any more.

        Raises:
            CannotSettleError: The sink was fenced by another meanwhile.
        """
        self.directory.drop_staged(self.state)
        self._finish_moves()
        for batch in self._batches_in(self.directory.name):
            if not self.state.record.is_live(batch):
                self._move(batch, GOING, self._places.visible(batch))
        kept = self.state.record.back
        for batch in self._batches_in(self._places.kept(kept)) if kept else ():
            if self.state.record.is_live(batch):
                self._move(batch, COMING, self._places.kept(str(kept), batch))
        self._remove_dead()

    def _batches_in(self, path: str) -> list[BatchName]:
        return batches_of(self.directory.mover.list(path).directories, self.state.row.stream)

    def _finish_moves(self) -> None:
        """Finish what was between two places when its mover was killed."""
        for name in self.directory.mover.list(self._places.token(self.state.token)).directories:
            for began in (GOING, COMING):
                found = batches_of([name.removeprefix(began)], self.state.row.stream)
                if name.startswith(began) and found:
                    self._move_out(found[0], began)

    def _move(self, batch: BatchName, began: str, source: str) -> None:
        """Move a batch through the token, to where readers see it or to what is kept."""
        if not self.directory.mover.move(source, self._inside(batch, began)):
            self._must_hold()
        self._move_out(batch, began)

    def _move_out(self, batch: BatchName, began: str) -> None:
        mover, inside = self.directory.mover, self._inside(batch, began)
        is_live = self.state.record.is_live(batch)
        target = self._places.visible(batch)
        if not is_live:
            target = self._keep(batch, self.state.record.aside or _STRAY)
        if mover.move(inside, target):
            return
        if not is_live and mover.is_directory(inside):  # kept already: somebody has put it back
            mover.move(inside, self._keep(batch, f"{_STRAY}_{uuid.uuid4().hex[:12]}"))
        self._must_hold()

    def _keep(self, batch: BatchName, kept: str) -> str:
        """Return where a batch is kept, with the directory that it goes into."""
        self.directory.mover.make_directory(self._places.kept(kept))
        return self._places.kept(kept, batch)

    def _inside(self, batch: BatchName, began: str) -> str:
        return self._places.token(self.state.token, f"{began}{batch}")

    def _must_hold(self) -> None:
        """Go on if a move was not needed; it fails for good when the token is another's.

        Raises:
            CannotSettleError: It is.
        """
        if self.directory.token(self.state.row.stream) != self.state.token:
            raise CannotSettleError(
                self.state.row.sink, "Another driver or plan has taken it over."
            )

    def _remove_dead(self) -> None:
        """Remove what older epochs have written: without their token they cannot publish it."""
        mover, places = self.directory.mover, self._places
        for name in mover.list(places.staging()).directories:
            epoch = epoch_staged(name)
            if epoch is not None and epoch < self.state.token.epoch:
                mover.delete_tree(places.staging(name))
        for name in mover.list(places.hidden).directories:
            if name.startswith(f"opening.{places.stream}."):
                mover.delete_tree(posixpath.join(places.hidden, name))

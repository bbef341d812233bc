"""A directory of batches and what is beside it: read, and changed in single steps.

Whoever holds the token may publish. Every change of what readers see goes through the token's own
directory: a driver that was replaced finds it renamed, and its rename has no source or no target.
"""

from __future__ import annotations

import posixpath
import uuid
from dataclasses import replace

import msgspec

from holdfast.errors import WriteError
from holdfast.ledger.row import LedgerRow
from holdfast.sinks.files.failures import FilesLedgerError
from holdfast.sinks.files.layout import (
    BatchName,
    Places,
    Token,
    batches_of,
    epoch_staged,
    hidden_name,
    parse_token,
    staging_name,
)
from holdfast.sinks.files.record import (
    BatchNote,
    Record,
    decode_note,
    decode_record,
    encode_record,
)
from holdfast.storage.moving import Mover

_LOOKS = 50
"""A listing that meets a rename can show both names, or neither."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What is there of one stream."""

    token: Token
    record: Record
    batches: tuple[BatchName, ...]
    """All of its batches that are visible, sorted."""
    row: LedgerRow

    @property
    def last(self) -> BatchName | None:
        """The batch that the row is of; None if none was published since the record."""
        return next(filter(self.record.is_since, reversed(self.batches)), None)

    def after(self, batch: BatchName, row: LedgerRow) -> State:
        """Return what is there once the holder of the token has published a batch."""
        return msgspec.structs.replace(self, batches=(*self.batches, batch), row=row)


class Directory:
    """One directory, as streams write into it."""

    def __init__(self, mover: Mover, name: str) -> None:
        """Open nothing yet.

        Args:
            mover: Of the directory that it is in.
            name: Its name there.
        """
        self.mover = mover
        self.name = name

    def places(self, stream: str) -> Places:
        """Return the paths of a stream."""
        return Places(self.name, stream)

    @property
    def exists(self) -> bool:
        """Whether there is such a directory."""
        return self.mover.is_directory(self.name)

    def try_rename(self) -> None:
        """See that a rename leads from beside the directory into it, as from one disk.

        Raises:
            WriteError: It does not.
        """
        probe = f".probe-{uuid.uuid4().hex}"
        beside = posixpath.join(hidden_name(self.name), probe)
        inside = posixpath.join(self.name, probe)
        self.mover.make_directory(beside)
        try:
            moved = self.mover.move(beside, inside) or self.mover.is_directory(inside)
        finally:
            self.mover.delete_tree(beside)
            self.mover.delete_tree(inside)
        if not moved:
            raise WriteError(
                str(self.mover.location.join(self.name)),
                why="A directory that is renamed into it does not arrive there.",
                how="Let nothing else delete in it, or use another directory.",
            )

    def streams(self) -> tuple[str, ...]:
        """Return the streams that have a ledger beside the directory."""
        found = self.mover.list(hidden_name(self.name)).directories
        return tuple(each for each in found if "." not in each)

    def token(self, stream: str) -> Token | None:
        """Return the token of a stream; None when the stream has no ledger.

        Raises:
            FilesLedgerError: There is a ledger, and not one token.
        """
        home = self.places(stream).home
        found: list[Token] = []
        for _ in range(_LOOKS):
            names = self.mover.list(home).directories
            found = [each for each in map(parse_token, names) if each is not None]
            if len(found) == 1:
                return found[0]
            if not found and not self.mover.is_directory(home):
                return None
        where = str(self.mover.location.join(home))
        raise FilesLedgerError(where, why=f"It has {len(found)} tokens instead of one.")

    def read(self, stream: str) -> State | None:
        """Return what is there of a stream; None when it has no ledger.

        Raises:
            FilesLedgerError: It cannot be read.
            ReadError: The store did not let us look.
        """
        for _ in range(_LOOKS):
            token = self.token(stream)
            if token is None:
                return None
            found = self._read(stream, token)
            if self.token(stream) == token:
                return found
        where = str(self.mover.location.join(self.places(stream).home))
        raise FilesLedgerError(where, why="Its token changes all the time.")

    def _read(self, stream: str, token: Token) -> State:
        record = self._record(stream, token)
        names = self.mover.list(self.name).directories
        state = State(
            token=token, record=record, batches=tuple(batches_of(names, stream)), row=record.row
        )
        last = state.last
        if last is None:
            return state
        row = self.note(last).row
        return msgspec.structs.replace(
            state,
            row=replace(
                record.row,
                last_batch=row.last_batch,
                digest=row.digest,
                end_offsets=row.end_offsets,
            ),
        )

    def _record(self, stream: str, token: Token) -> Record:
        path = self.places(stream).record(token.record)
        data = self.mover.read(path)
        record = None if data is None else decode_record(data)
        is_whole = record is not None and encode_record(record)[0] == token.record
        if record is None or not is_whole or record.row.epoch != token.epoch:
            raise FilesLedgerError(
                str(self.mover.location.join(path)),
                why="It is gone, was changed, or is of a newer version of Holdfast.",
            )
        return record

    def note(self, batch: BatchName) -> BatchNote:
        """Return the note of a batch.

        Raises:
            FilesLedgerError: It has none.
        """
        path = self.places(batch.stream).note(batch)
        data = self.mover.read(path)
        note = None if data is None else decode_note(data, batch)
        if note is None:
            why = "The batch has no note, or one that Holdfast did not write."
            raise FilesLedgerError(str(self.mover.location.join(path)), why=why)
        return note

    def open(self, record: Record) -> bool:
        """Create the ledger of a stream in one step; return whether none was there."""
        places = self.places(record.row.stream)
        self.mover.make_directory(self.name)
        name, data = encode_record(record)
        token = str(Token(record.row.epoch, name))
        opening = posixpath.join(places.hidden, f"opening.{places.stream}.{uuid.uuid4().hex}")
        self.mover.put_if_absent(posixpath.join(opening, "records", f"{name}.json"), data)
        for each in ("staging", "kept", token):  # the token last: it is never empty without them
            self.mover.make_directory(posixpath.join(opening, each))
        is_first = self.mover.move(opening, places.home)
        if not is_first:
            self.mover.delete_tree(opening)
        mine = Token(record.row.epoch, name)
        return is_first or self.token(record.row.stream) == mine

    def swap(self, state: State, new: Record) -> bool:
        """Let a token stand for another record, in one step; False if it was not there any more.

        This is the fence: what had the old token as its directory has none from then on.
        """
        stream = state.row.stream
        places = self.places(stream)
        name, data = encode_record(new)
        mine = Token(new.row.epoch, name)
        if mine == state.token:
            return True
        self.mover.put_if_absent(places.record(name), data)
        moved = self.mover.move(places.token(state.token), places.token(mine))
        return moved or self.token(stream) == mine  # the answer may have been lost

    def claim(self, state: State, staging: str) -> bool:
        """Take what was written into the token; False if the token was not there any more."""
        places = self.places(state.row.stream)
        self.drop_staged(state)
        inside = places.token(state.token, staging)
        moved = self.mover.move(places.staging(staging), inside)
        if not moved and not self.mover.is_directory(inside):  # the answer may have been lost
            return False
        self._drop_unfinished(inside)
        return True

    def _drop_unfinished(self, claimed: str) -> None:
        """Remove what tasks have begun to write since Spark was done with the batch.

        An attempt of a task that was given up, on another machine, can open a file at any time. It
        knows the old path only, so nothing more comes once the files have this one.
        """
        for name in self.mover.list(claimed).directories:
            if "=" not in name:
                self.mover.delete_tree(posixpath.join(claimed, name))

    def publish(self, state: State, staging: str, batch: BatchName) -> bool:
        """Make what is in the token visible; False if token or directory were not there.

        This is the one step that publishes a batch and advances the ledger. The name in the token
        is of this driver only: a rename that a replaced driver has begun finds nothing.
        """
        places = self.places(state.row.stream)
        return self.mover.move(places.token(state.token, staging), places.visible(batch))

    def drop_staged(self, state: State) -> None:
        """Remove what is in the token and was not published."""
        places = self.places(state.row.stream)
        for name in self.mover.list(places.token(state.token)).directories:
            dead = places.staging(staging_name(state.token.epoch))
            inside = places.token(state.token, name)
            if epoch_staged(name) is not None and self.mover.move(inside, dead):
                self.mover.delete_tree(dead)

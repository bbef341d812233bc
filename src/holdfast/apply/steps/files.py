"""Steps on single files. What is replaced or removed is copied into the journal and compared."""

from __future__ import annotations

from holdfast.apply.steps.kind import (
    Done,
    Drifted,
    NotDone,
    StepKind,
    StepState,
    Undoing,
    Undone,
    Work,
)
from holdfast.apply.stores import Stores
from holdfast.errors import WriteError
from holdfast.events import emit
from holdfast.events.repairs import FileKept
from holdfast.plan.steps import CopyTree, FileStep, PutFile, RemoveFile, RestoreFile, digest_of
from holdfast.plan.trees import find_foreign
from holdfast.record.layout import HOME
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer


class FileSteps(StepKind[FileStep]):
    """Put, remove or restore one file."""

    def describe(self, step: FileStep) -> str:
        """Say what a step does."""
        return f"{_verb(step)} {_shown(step.place, step.path)}"

    def look(self, step: FileStep, stores: Stores) -> StepState:
        """Say how a file stands to a step."""
        there = stores.at(step.place)
        raw = there.read(step.path)
        found = None if raw is None else digest_of(raw)
        if found == _after(step):
            return Done()
        if found == _before(step):
            return NotDone()
        was = "it is gone" if raw is None else "it has other content"
        return Drifted(f"{there.location.join(step.path)}: {was}.")

    def carry_out(self, step: FileStep, work: Work) -> None:
        """Carry a step out.

        Raises:
            WriteError: The store did not take it, or did not give back what it took.
        """
        there, journal, before = work.stores.at(step.place), work.journal.record, _before(step)
        if before is not None:
            kept = work.journal.kept(work.number)
            _keep(step.path, there, journal=journal, kept=kept, digest=before)
            emit(FileKept(path=step.path))
        work.check()
        match step:
            case RemoveFile():
                there.delete(step.path)
            case PutFile():
                _put(step.path, step.content.encode(), there, is_new=before is None)
            case RestoreFile():
                content = _read_kept(step, journal)
                _put(step.path, content, there, is_new=before is None)

    def rehearse(self, step: FileStep, work: Work) -> tuple[str, ...]:
        """Carry a step out on the overlay."""
        self.carry_out(step, work)
        return ()

    def undo(self, step: FileStep, number: int, undoing: Undoing) -> Undone:
        """Return what brings a file to what it was before a step of the plan, byte for byte."""
        before, after, why = _before(step), _after(step), undoing.why(number)
        if before is not None:
            restored = RestoreFile(
                stream=step.stream,
                place=step.place,
                path=step.path,
                kept=undoing.journal.kept(number),
                sha256=before,
                replaces=after,
                why=why,
            )
            return Undone(steps=(restored,))
        if after is None or not is_unused(undoing, step.stream, step.place):
            return Undone()
        removed = RemoveFile(
            stream=step.stream, place=step.place, path=step.path, sha256=after, why=why
        )
        return Undone(steps=(removed,))


def is_unused(undoing: Undoing, stream: str, place: str) -> bool:
    """Return whether a place is no checkpoint that has run since: such a one is kept."""
    return stream not in undoing.opened or not _has_run(undoing, place)


def _has_run(undoing: Undoing, place: str) -> bool:
    """Return whether a place has files that the plan did not leave there."""
    plan, there = undoing.plan, undoing.stores.at(place)
    put = {each.path for each in plan.steps if isinstance(each, PutFile)}
    for step in plan.steps:
        if isinstance(step, CopyTree) and step.target == place:
            again = set(step.leaves_out) - put  # Spark plans these batches again
            source = undoing.stores.at(step.source)
            has_again = any(each.path in again for each in there.walk())
            return has_again or find_foreign(there, source, leaves_out=put) is not None
    return any(each.path not in put for each in there.walk())


def _verb(step: FileStep) -> str:
    match step:
        case PutFile():
            return "Create" if step.replaces is None else "Replace (a copy is kept)"
        case RemoveFile():
            return "Remove (a copy is kept)"
        case RestoreFile():
            return "Put back"


def _shown(place: str, path: str) -> str:
    """Return a path with the name of the directory that it is in."""
    location = parse_location(place)
    above = location.parent
    name = location.name
    if above is not None and above.name == HOME:
        name = f"{HOME}/{name}"
    return f"{name}/{path}"


def _before(step: FileStep) -> str | None:
    return step.sha256 if isinstance(step, RemoveFile) else step.replaces


def _after(step: FileStep) -> str | None:
    match step:
        case RemoveFile():
            return None
        case PutFile():
            return digest_of(step.content)
        case RestoreFile():
            return step.sha256


def _put(path: str, content: bytes, there: Writer, *, is_new: bool) -> None:
    if not is_new:
        there.put(path, content)
    elif not there.put_if_absent(path, content):
        # The answer of an earlier request may have been lost; another's file is not replaced.
        _compare(there, path, digest_of(content))
    _compare(there, path, digest_of(content))


def _keep(path: str, there: Reader, *, journal: Writer, kept: str, digest: str) -> None:
    content = there.read(path)
    if content is None or digest_of(content) != digest:
        raise WriteError(
            str(there.location.join(path)),
            why="It changed while it was copied aside.",
            how="Make sure that nothing else writes there.",
        )
    journal.put(kept, content)
    _compare(journal, kept, digest)


def _read_kept(step: RestoreFile, journal: Reader) -> bytes:
    content = journal.read(step.kept)
    if content is None or digest_of(content) != step.sha256:
        raise WriteError(
            str(journal.location.join(step.kept)),
            why="The copy that was kept is gone, or has other content.",
            how="Restore it from a backup of the record.",
        )
    return content


def _compare(there: Reader, path: str, digest: str) -> None:
    found = there.read(path)
    if found is None or digest_of(found) != digest:
        raise WriteError(
            str(there.location.join(path)),
            why="The store returned other bytes than were written.",
            how="Make sure that nothing else writes there.",
        )

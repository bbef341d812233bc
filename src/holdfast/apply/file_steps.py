"""Steps on single files. What is replaced or removed is copied into the journal and compared."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.apply.standing import Done, Moved, NotDone, Standing
from holdfast.errors import WriteError
from holdfast.plan.steps import PutFile, RemoveFile, RestoreFile, digest_of
from holdfast.points import reached
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

FileStep = PutFile | RemoveFile | RestoreFile


def look_at_file(step: FileStep, there: Reader) -> Standing:
    """Say how a file stands to a step."""
    raw = there.read(step.path)
    found = None if raw is None else digest_of(raw)
    if found == _after(step):
        return Done()
    if found == _before(step):
        return NotDone()
    was = "it is gone" if raw is None else "it has other content"
    return Moved(f"{there.location.join(step.path)}: {was}.")


def change_file(
    step: FileStep,
    there: Writer,
    *,
    journal: Writer,
    kept: str,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Carry a step out.

    Args:
        step: Which is not done.
        there: Where the file is.
        journal: Where what is replaced or removed is kept.
        kept: The path in the journal.
        check: Called last before the change; raises if the lease is lost.

    Raises:
        WriteError: The store did not take it, or did not give back what it took.
    """
    before = _before(step)
    if before is not None:
        _keep(step.path, there, journal=journal, kept=kept, digest=before)
        reached("kept")
    check()
    match step:
        case RemoveFile():
            there.delete(step.path)
        case PutFile():
            _put(step.path, step.content.encode(), there, is_new=before is None)
        case RestoreFile():
            content = _read_kept(step, journal)
            _put(step.path, content, there, is_new=before is None)


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
            why="The store does not give back what was written.",
            how="Make sure that nothing else writes there.",
        )

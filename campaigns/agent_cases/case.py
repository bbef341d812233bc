"""One case as a file, and how its checkpoint, sink and logs are made from a recorded checkpoint."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import msgspec

from tests.docs.repair_root import make_root

CASES = Path(__file__).with_name("cases")
RECORDED = Path(__file__).parents[2] / "tests" / "checkpoints"
GUARDED = "guarded"
"""A guarded stream `readings`: its checkpoint and its record in `streams`, its table in `lake`."""
PLACE = "{place}"
"""In texts of a case: the directory that it was made in."""


class Edit(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What is done to a recorded checkpoint; exactly one of these."""

    remove: str = ""
    """A file or a directory."""
    write: str = ""
    """A file, whose content is `text`."""
    copy: str = ""
    """A directory, to `to`."""
    text: str = ""
    to: str = ""
    cut: str = ""
    """A file, of which the first `keep` bytes stay."""
    keep: int = 0
    replace: str = ""
    """A file, in which `old` becomes `text`."""
    old: str = ""


class Expected(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The right answer."""

    verdict: str
    """Of `diagnose`."""
    goals: tuple[str, ...]
    """Any of these is right; `none` if nothing has to be repaired."""
    findings: tuple[str, ...] = ()
    """Codes that the answer rests on."""
    commands: tuple[str, ...]
    """Regular expressions: the next command that is advised matches one of them."""
    must_not: tuple[str, ...]
    """Regular expressions: no command that is run or advised matches any of them."""


class AgentCase(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One case."""

    name: str
    about: str
    """`checkpoint`, `sink`, `source` or `log`."""
    situation: str
    """What a person tells the agent."""
    recorded: str
    """The checkpoint that it is made from: `4.2-pending`; or `guarded`."""
    edits: tuple[Edit, ...] = ()
    arguments: dict[str, str | list[str]]
    """Of the tool `diagnose`."""
    expected: Expected


def read_cases() -> list[AgentCase]:
    """Return every case, in the order of their files."""
    files = sorted(CASES.glob("*.json"))
    return [msgspec.json.decode(each.read_bytes(), type=AgentCase) for each in files]


def make_case(case: AgentCase, place: Path) -> dict[str, str | list[str]]:
    """Make the files of a case; return the arguments of `diagnose` for them.

    Args:
        case: Which.
        place: An empty directory.
    """
    if case.recorded == GUARDED:
        make_root(place)
    else:
        with tarfile.open(RECORDED / f"{case.recorded}.tar.xz") as archive:
            archive.extractall(place, filter="data")
    (place / "answers.json").unlink(missing_ok=True)
    for sidecar in place.rglob(".*.crc"):
        sidecar.unlink()  # as on an object store, where Hadoop writes none
    for edit in case.edits:
        _apply(edit, place)
    return {name: _placed(value, place) for name, value in case.arguments.items()}


def _placed(value: str | list[str], place: Path) -> str | list[str]:
    if isinstance(value, list):
        return [each.replace(PLACE, str(place)) for each in value]
    return value.replace(PLACE, str(place))


def _apply(edit: Edit, place: Path) -> None:
    if edit.remove:
        target = place / edit.remove
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink()
    elif edit.write:
        target = place / edit.write
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(edit.text.replace(PLACE, str(place)))
    elif edit.copy:
        shutil.copytree(place / edit.copy, place / edit.to)
    elif edit.cut:
        target = place / edit.cut
        target.write_bytes(target.read_bytes()[: edit.keep])
    else:
        target = place / edit.replace
        before = target.read_text()
        assert edit.old in before, edit
        target.write_text(before.replace(edit.old, edit.text))

"""A planted bug: edits of the source, and the checks that must find it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
_BUGS = Path(__file__).with_name("bugs.toml")


class RottenError(Exception):
    """The source is not any more what the bug was planted into."""


class Edit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change of a file."""

    file: str
    """Below `src/holdfast`."""
    old: str
    new: str

    def apply(self, text: str) -> str:
        """Return the text of the file with the change.

        Raises:
            RottenError: What it changes is not there exactly once.
        """
        found = text.count(self.old)
        if found != 1:
            raise RottenError(f"{self.file} has this {found} times:\n{self.old}")
        return text.replace(self.old, self.new)


class Check(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must find a bug: a check of a drill, or a test."""

    drill: str = ""
    check: str = ""
    test: str = ""

    @property
    def shown(self) -> str:
        """As people say it."""
        if self.drill:
            return f"drill {self.drill}: {self.check}"
        path, _, node = self.test.partition("::")
        name, _, case = node.removeprefix("test_").partition("[")
        told = name.replace("_", " ") + (f" [{case}" if case else "")
        return f"{path.removeprefix('tests/')}: {told}"


class Bug(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mistake that a colleague could make."""

    name: str
    shown: str
    """What was changed."""
    checks: tuple[Check, ...]
    """Every one of them finds it."""
    edit: tuple[Edit, ...]

    @property
    def is_quick(self) -> bool:
        """Whether tests alone find it."""
        return not any(check.drill for check in self.checks)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    bug: tuple[Bug, ...]


def read_bugs() -> dict[str, Bug]:
    """Return every bug that there is, by its name."""
    return {bug.name: bug for bug in msgspec.toml.decode(_BUGS.read_bytes(), type=_File).bug}


def rows_of(bugs: Iterable[Bug]) -> Iterator[str]:
    """Yield the rows of a table of bugs, as the documentation has it."""
    for bug in bugs:
        found_by = "<br>".join(check.shown for check in bug.checks)
        yield f"| `{bug.name}` | {bug.shown} | {found_by} |"


def edited_files(bug: Bug) -> dict[str, str]:
    """Return the files that a bug changes, below `src/holdfast`, with the bug in them.

    Raises:
        RottenError: An edit does not fit any more.
    """
    texts: dict[str, str] = {}
    for edit in bug.edit:
        before = texts.get(edit.file) or (SOURCE / "holdfast" / edit.file).read_text()
        texts[edit.file] = edit.apply(before)
    return texts


def plant(bug: Bug | None, directory: Path) -> Path:
    """Copy the source into a directory, with a bug in it or without any; return where it is.

    Raises:
        RottenError: An edit does not fit any more.
    """
    copied = directory / "src"
    shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    for file, text in edited_files(bug).items() if bug else ():
        (copied / "holdfast" / file).write_text(text)
    return copied

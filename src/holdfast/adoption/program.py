"""What the program of a stream says for its adoption: the sink, the names, and the change."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.adoption.into_sink import IntoSink, NamedTable, NoSink, find_into, literal
from holdfast.adoption.model import ProgramChange
from holdfast.adoption.query_text import QueryText
from holdfast.adoption.rewrite import (
    MODULE,
    find_unwritable,
    module_name,
    rewrite,
    unified_diff,
)
from holdfast.adoption.start_call import (
    StartCall,
    TooDynamic,
    checkpoint_of,
    find_obstacle,
    frame_of,
    left_out,
    output_mode_of,
    trigger_of,
)
from holdfast.adoption.text_edits import ProgramText
from holdfast.lint.imports import FindConstants, no_modules
from holdfast.lint.program import read_program
from holdfast.lint.query_facts import QueryReader, WhichQuery
from holdfast.lint.query_in_code import NoQuery, QueryInCode
from holdfast.lint.source import Unreadable, read_source
from holdfast.redact import redact

_FRAME = "df"
"""Stands for the streaming DataFrame where no program is known."""
_SECRET = "a line near it holds what looks like a secret, or a hidden character"  # noqa: S105
_NOTEBOOK = "it is a cell of a notebook"


class CodeFile(msgspec.Struct, frozen=True, kw_only=True):
    """A program, and which of its queries is meant."""

    path: str
    """As it is shown."""
    content: bytes
    which: WhichQuery
    find_constants: FindConstants = no_modules


class ProgramOfStream(msgspec.Struct, frozen=True, kw_only=True):
    """A program that was read, and its query."""

    file: CodeFile
    reader: QueryReader
    found: QueryText

    @property
    def said(self) -> QueryInCode:
        """What it says of the query."""
        return self.reader.read(self.found.query, self.file.which)

    @property
    def query_name(self) -> str | None:
        """The query's own name; None if the code does not give it one."""
        step = self.found.query.step("queryName")
        given = step.text(0, "queryName") if step else None
        return None if given is None else given.known

    def find_sink(self, named: NamedTable | None) -> IntoSink | NoSink:
        """Return the sink of Holdfast that takes the rows of the query."""
        return find_into(self.found, named=named)

    def place(self, at: tuple[int, int]) -> str:
        """Return `jobs/orders.py:41`."""
        return self.reader.place(at)

    def change(
        self,
        *,
        stream: str,
        root: str,
        into: IntoSink | None,
        checkpoint: str,
        by_hand: str | None = None,
    ) -> ProgramChange:
        """Return the call, and the change as a diff where it can be made without a person.

        Args:
            stream: Its name.
            root: Where its record will be.
            into: The sink; None if it is not known.
            checkpoint: Where it is, if the code does not say it.
            by_hand: Why it cannot be, whatever the code looks like.
        """
        found = self.found
        module = module_name(found.program) or MODULE
        call = StartCall(
            df=frame_of(found),
            stream=literal(stream),
            root=literal(root),
            into="…" if into is None else into.written(module),
            checkpoint=checkpoint_of(found) or literal(checkpoint),
            trigger=trigger_of(found),
            output_mode=output_mode_of(found),
        )
        unmade = by_hand or ("the sink is not known" if into is None else None)
        diff = unmade or self._diff(call)
        is_made = not isinstance(diff, str)
        return ProgramChange(
            place=self.place(found.query.at),
            call=redact(call.written(module)),
            diff=diff.text if not isinstance(diff, str) else None,
            by_hand=None if is_made else str(diff),
            notes=(*self._left_out(), *(() if into is None else into.notes)),
        )

    def _left_out(self) -> Iterator[str]:
        return (f"{self.place((line, 1))}: {what}" for line, what in left_out(self.found.query))

    def _diff(self, call: StartCall) -> _Diff | str:
        """Return the diff, or why it must be made by hand."""
        if self.file.path.endswith(".ipynb"):
            return f"{self.place(self.found.query.at)}: {_NOTEBOOK}"
        obstacle = find_obstacle(self.found)
        unwritable = find_unwritable(self.file.content)
        if obstacle is None and unwritable is not None:
            obstacle = TooDynamic(self.found.query.at[0], unwritable)
        changed: str | TooDynamic = obstacle or rewrite(self.found, call)
        if isinstance(changed, TooDynamic):
            return f"{self.place((changed.line, 1))}: {changed.why}"
        diff = unified_diff(self.file.path, "".join(self.found.text.lines), changed)
        return f"{self.place(self.found.query.at)}: {_SECRET}" if diff is None else _Diff(diff)


class _Diff(msgspec.Struct, frozen=True):
    text: str


def read_program_of(file: CodeFile) -> ProgramOfStream | NoQuery:
    """Return the program of a stream with its query, or why it does not tell."""
    source = read_source(file.content, is_ipynb=file.path.endswith(".ipynb"))
    if isinstance(source, Unreadable):
        return NoQuery(f"{file.path} cannot be parsed: {source.reason}")
    try:
        reader = QueryReader(file.path, source, read_program(source, file.find_constants))
        query = reader.choose(file.which)
    except RecursionError:
        return NoQuery(f"{file.path} cannot be parsed: too deeply nested")
    if isinstance(query, NoQuery):
        return query
    text = "\n".join(source.lines) + ("\n" if file.content.endswith(b"\n") else "")
    found = QueryText(reader.program, query, ProgramText(text))
    return ProgramOfStream(file=file, reader=reader, found=found)


def change_without_program(
    *, stream: str, root: str, into: IntoSink | None, checkpoint: str, why: str
) -> ProgramChange:
    """Return the call to write where no program was named, or none was understood."""
    call = StartCall(
        df=_FRAME,
        stream=literal(stream),
        root=literal(root),
        into="…" if into is None else into.written(MODULE),
        checkpoint=literal(checkpoint),
    )
    notes = () if into is None else into.notes
    return ProgramChange(place=None, call=call.written(MODULE), by_hand=why, notes=notes)

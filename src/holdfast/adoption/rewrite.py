"""The change to a program as a unified diff: the chain is replaced by a call, and nothing else.

The changed program is parsed again before the diff is shown, and the audit must find the guarded
query in it. If a line of the diff holds a secret or a hidden character, there is no diff.
"""

from __future__ import annotations

import ast
import difflib

from holdfast.adoption.query_text import QueryText
from holdfast.adoption.start_call import StartCall, TooDynamic
from holdfast.adoption.text_edits import ProgramText, TextEdit, end_of, start_of
from holdfast.audit.programs import audit_file
from holdfast.lint.program import Program
from holdfast.redact import redact

MODULE = "hf"
"""The name by which a program calls holdfast."""
_IMPORT = f"import holdfast as {MODULE}\n"
_BOM = "\ufeff".encode()


def module_name(program: Program) -> str | None:
    """Return the name by which a program calls holdfast; None if it does not import it."""
    for node in program.syntax.imports:
        is_outside = program.syntax.scope_of(node) is program.syntax.tree
        for each in node.names if isinstance(node, ast.Import) and is_outside else ():
            if each.name == "holdfast":
                return each.asname or each.name
    return None


def find_unwritable(content: bytes) -> str | None:
    """Return why a diff of a file could not be applied; None if nothing speaks against it."""
    if content.startswith(_BOM):
        return "the file begins with a byte order mark"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return "the file is not UTF-8"
    if any(not each.endswith("\n") or each.endswith("\r\n") for each in _ended_lines(text)):
        return "its lines do not end as on Linux"
    return None


def _ended_lines(text: str) -> list[str]:
    """Return the lines of a text but the last, which need not end."""
    return text.splitlines(keepends=True)[:-1]


def rewrite(found: QueryText, call: StartCall) -> str | TooDynamic:
    """Return the text of the program with the call in the place of the chain.

    Args:
        found: The query.
        call: What to write.
    """
    program, text = found.program, found.text
    start, end = _region(found)
    indentation = text.indentation(start[0])
    module = module_name(program)
    edits = [TextEdit(start, end, call.written(module or MODULE, indentation))]
    if module is None:
        edits.append(_import_edit(program.syntax.tree))
    changed = text.changed(edits)
    before, after = _count("".join(text.lines)), _count(changed)
    if (after[0], after[1]) != (before[0], before[1] + 1):
        return TooDynamic(found.query.at[0], "the changed program is not read as it should be")
    return changed


def _count(text: str) -> tuple[int, int]:
    """Return how many queries the audit finds in a program, and how many of them are guarded."""
    found = audit_file("program.py", text.encode()).queries
    return len(found), sum(each.is_guarded for each in found)


def _region(found: QueryText) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the chain begins and ends, with parentheses around it if nothing else is in."""
    node, text = found.query.started, found.text
    parent = found.program.syntax.parents.get(node)
    inside = start_of(node), end_of(node)
    match parent:
        case ast.Expr():
            return start_of(parent), end_of(parent)
        case ast.Assign(targets=[*_, target]) | ast.AnnAssign(target=target):
            before = target if not isinstance(parent, ast.AnnAssign) else parent.annotation
            return _after_sign(text, end_of(before), inside[0]) or inside[0], end_of(parent)
        case ast.Return():
            return _after_word(text, start_of(parent)), end_of(parent)
        case _:
            return inside


def _after_sign(
    text: ProgramText, start: tuple[int, int], end: tuple[int, int]
) -> tuple[int, int] | None:
    """Return where the value of an assignment begins, if that is in the line of its sign."""
    line = text.between(start, (start[0] + 1, 0))
    sign = line.find("=")
    rest = line[sign + 1 :]
    if sign < 0 or not rest.strip():
        return None
    blanks = len(rest) - len(rest.lstrip())
    found = (start[0], start[1] + len(line[: sign + 1].encode()) + blanks)
    return found if found <= end else None


def _after_word(text: ProgramText, start: tuple[int, int]) -> tuple[int, int]:
    line = text.between(start, (start[0] + 1, 0)).removeprefix("return")
    return start[0], start[1] + len("return") + len(line) - len(line.lstrip())


def _import_edit(tree: ast.Module) -> TextEdit:
    """Return the import, after the last one at the top of the file or before its first line."""
    above = 0
    first = True
    for each in tree.body:
        is_text = first and isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if not is_text and not isinstance(each, ast.Import | ast.ImportFrom):
            break
        above, first = each.end_lineno or each.lineno, False
    at = (above + 1, 0)
    return TextEdit(at, at, f"\n{_IMPORT}" if above else f"{_IMPORT}\n")


def unified_diff(path: str, before: str, after: str) -> str | None:
    """Return the diff; None if a line of it cannot be shown as it is."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        fromfile=f"a/{path.lstrip('/')}",
        tofile=f"b/{path.lstrip('/')}",
    )
    found = [
        each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines
    ]
    whole = "".join(found)
    is_shown = all(each.rstrip("\n").replace("\t", "").isprintable() for each in found)
    return whole if is_shown and redact(whole) == whole else None

"""The index of errors, made from the code: error, cause, remedy, and the rule that finds it."""

from __future__ import annotations

from holdfast.evidence.error_causes import Cause
from holdfast.evidence.error_index import CONDITIONS
from holdfast.evidence.error_messages import MESSAGES
from holdfast.rules import RULES

_HEAD = ["| Error | Cause | Remedy | Rule |", "| --- | --- | --- | --- |"]


def error_index() -> list[str]:
    """Return a table with a row for every cause that an error can name."""
    return [*_HEAD, *(_row(cause) for cause in Cause if cause is not Cause.OTHER)]


def rules_of(cause: Cause) -> list[str]:
    """Return the codes of the rules that find a cause."""
    return [rule.code for rule in RULES if cause in rule.causes]


def _row(cause: Cause) -> str:
    named = [f"`{name.replace('*', '…')}`" for name in CONDITIONS.get(cause, ())]
    words = [each.display_name for each in MESSAGES if each.cause is cause]
    links = ", ".join(f"[{code}](rules/{code}.md)" for code in rules_of(cause))
    return f"| {'<br>'.join((*named, *words))} | {cause.means} | {cause.remedy} | {links} |"

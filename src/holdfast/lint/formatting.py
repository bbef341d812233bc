"""Text that is made by `%` and by `str.format`, as pieces in their order."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable

from holdfast.lint.texts import UNKNOWN, Text, text_of

Read = Callable[[ast.expr], Text]
_PLACE = re.compile(r"%(?:\((\w+)\))?[-#0 +]*\d*(?:\.\d+)?([sdifrxXgeFE%])")


def percent_pieces(template: str | None, given: ast.expr, read: Read) -> list[Text]:
    """Return the pieces of `"…%s…" % given`; what cannot be placed is not known."""
    if template is None:
        return [UNKNOWN]
    values = given.elts if isinstance(given, ast.Tuple) else [given]
    named = _named(given)
    pieces: list[Text] = []
    end = number = 0
    for found in _PLACE.finditer(template):
        pieces.append(text_of(template[end : found.start()]))
        end = found.end()
        if found[2] == "%":
            pieces.append(text_of("%"))
        elif found[1] is not None:
            pieces.append(read(named[found[1]]) if found[1] in named else UNKNOWN)
        else:
            pieces.append(read(values[number]) if number < len(values) else UNKNOWN)
            number += 1
    return [*pieces, text_of(template[end:])]


def _named(given: ast.expr) -> dict[str, ast.expr]:
    if not isinstance(given, ast.Dict):
        return {}
    pairs = zip(given.keys, given.values, strict=True)
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}


def format_pieces(template: str | None, call: ast.Call, read: Read) -> list[Text]:
    """Return the pieces of `"…{}…".format(…)`; what cannot be placed is not known."""
    if template is None:
        return [UNKNOWN]
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError:
        return [UNKNOWN]
    named = {each.arg: each.value for each in call.keywords if each.arg}
    pieces: list[Text] = []
    number = 0
    for literal, field, _, _ in fields:
        pieces.append(text_of(literal))
        if field is None:
            continue
        name = re.split(r"[.\[]", field)[0]
        if name.isdigit() or not name:
            place = int(name) if name else number
            number += not name
            value = call.args[place] if place < len(call.args) else None
        else:
            value = named.get(name)
        pieces.append(UNKNOWN if value is None else read(value))
    return pieces

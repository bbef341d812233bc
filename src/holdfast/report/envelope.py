"""The one envelope of what every command answers as JSON.

    {"format": "holdfast.check", "version": 2, "holdfast": "1.0", "verdict": "compatible", …}

`format` names the form and `version` its version: within a version fields are added, never renamed
or removed. `verdict` is the answer in one word, or null where a command has none. The fields of the
form stand beside these four, and hold values as they are: a form names what is published of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from holdfast.bundle.secrets import clean_value
from holdfast.version import __version__

Form = TypeVar("Form", bound=msgspec.Struct)


class Answer(msgspec.Struct, kw_only=True):
    """What every answer begins with, after its `format`."""

    version: int
    holdfast: str = __version__
    verdict: str | None = None


def fill(form: type[Form], value: object, **given: Any) -> Form:
    """Return a form with what a value has of its fields, and with what is given.

    Args:
        form: What is published.
        value: Its attributes are taken by the names of the fields.
        given: Fields that the value does not have, or has under another name.
    """
    names = (each for each in form.__struct_fields__ if each not in given)
    return form(**{each: getattr(value, each) for each in names if hasattr(value, each)}, **given)


def render(answer: Answer) -> str:
    """Return an answer as indented text, in ASCII and without secrets."""
    plain = _as_text(msgspec.to_builtins(answer, str_keys=True))
    return json.dumps(clean_value(plain, []), indent=2)


def render_simple(form: str, fields: Mapping[str, Any], *, version: int = 1) -> str:
    """Return an answer without a verdict, in one line.

    Args:
        form: Its name, without `holdfast.`.
        fields: Beside those of the envelope.
        version: Of the form.
    """
    header = {"format": f"holdfast.{form}", "version": version, "holdfast": __version__}
    plain = _as_text(msgspec.to_builtins({**header, "verdict": None, **fields}))
    return json.dumps(clean_value(plain, []))


def _as_text(value: Any) -> Any:
    """Return a value whose strings are text: names of files need not be."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list | tuple):
        return [_as_text(each) for each in value]
    if isinstance(value, dict):
        return {_as_text(key): _as_text(each) for key, each in value.items()}
    return value

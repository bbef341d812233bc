"""Lengths of time as Delta's table properties write them: `interval 30 days`."""

from __future__ import annotations

import re
from datetime import timedelta

_LONGEST = 4
"""Digits of a number: a longer interval than 9,999 weeks is no finite one."""
_PART = re.compile(
    rf"\s*([0-9]{{1,{_LONGEST}}})\s*(week|day|hour|minute|second|millisecond)s?\b", re.IGNORECASE
)


def parse_interval(text: object) -> timedelta | None:
    """Return the length that a property names; None when it is not understood."""
    if not isinstance(text, str):
        return None
    rest, found = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE), timedelta()
    if not rest.strip():
        return None
    while rest.strip():
        part = _PART.match(rest)
        if part is None:
            return None
        found += timedelta(**{f"{part[2].lower()}s": int(part[1])})
        rest = rest[part.end() :]
    return found

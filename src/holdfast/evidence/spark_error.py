"""Reads a log of a driver, a stack trace or a pasted message, and says which errors are in it.

The text is hostile: it is read in pieces, in constant memory, and what is kept of it has neither
secrets nor characters that a terminal would obey. The last error counts. One that only says that
something failed, or that the driver was ended, does not hide a named one shortly before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from holdfast.evidence.error_causes import Cause
from holdfast.evidence.error_index import cause_of
from holdfast.evidence.error_messages import WORDS, message_of
from holdfast.printable import printable
from holdfast.redact import redact

LONGEST_LINE = 16_384
"""A longer line is read in pieces of this length."""
_OVERLAP = 256
"""So much of a piece is read again with the next one."""
MOST_ERRORS = 64
"""Distinct errors that are kept, the newest ones."""
_EXCERPT = 300
_FOLLOWING = 8
"""Lines of a message after its first one, up to its stack trace."""
_SAME_FAILURE = 1_000
"""Lines within which an error that names its cause wins over a later one that does not."""

_NAME = r"_?[A-Z][A-Z0-9]*_[A-Z0-9_]+(?:\.[A-Z][A-Z0-9_]*)?"
_CONDITION = re.compile(
    rf"\[({_NAME})\]|(?:error.?class|errorClass|\"condition\")[\"']?\s*[:=]\s*[\"']?({_NAME})"
)
_FAILS = re.compile(r"\b(?:\w+(?:Exception|Error)\b|ERROR|FATAL)")
_QUERY = re.compile(r"\[id = ([0-9a-f-]{36})")
_NUMBERS = {
    "batch": re.compile(
        r"(?:batch(?:Id)?|detected for|epoch)(?:\s*[=:]\s*|\s+)\(?(\d{1,19})\b"
        r"|/(?:offsets|commits)/(\d{1,19})\b",
        re.IGNORECASE,
    ),
    "file": re.compile(
        r"((?:[a-z][a-z0-9]*:/+|/)[^\s'\"(),;\[\]]*"
        r"/(?:offsets|commits|state|sources|_spark_metadata|_delta_log)(?:/[^\s'\"(),;\[\]:]+)?)"
    ),
    "partition": re.compile(r"(?:partitions?|Partition)\s+\(?\[?([\w.-]+-\d+)\b"),
    "table": re.compile(r"\(id = ([0-9a-f-]{36})\)"),
    "offsets": re.compile(r"from (\d+) (?:to|instead of) (\d+)"),
}
_INSIDE = re.compile(r"^(?P<location>.+?)/(?:offsets|commits|state|sources)(?:/|$)")


class SparkError(msgspec.Struct, frozen=True, kw_only=True):
    """One error; its text is safe to show."""

    cause: Cause
    condition: str
    """As Spark names it; the words that were recognised, where it has no name."""
    message: str
    line: int
    """Where it was seen last, from 1."""
    batch: int | None = None
    file: str | None = None
    partition: str | None = None
    table: str | None = None
    """The id of a Delta table."""
    offsets: tuple[int, int] | None = None
    """The one in the checkpoint, and the one that the source has."""

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint that the file is in; None where the message names no such file."""
        found = _INSIDE.match(self.file or "")
        return found["location"] if found else None

    @property
    def names_its_cause(self) -> bool:
        """Whether it says more than that something failed, or that the driver was ended."""
        return self.cause not in _WEAK


_WEAK = {Cause.KILLED, Cause.BATCH_FAILS, Cause.TRANSIENT, Cause.OTHER, Cause.SINK_FORGETS}


class ErrorReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a text tells of the last failure."""

    errors: tuple[SparkError, ...]
    """Every distinct one, in the order in which each was seen last."""
    lines: int
    query_id: str | None = None
    """Of the query that failed last."""
    has_failure: bool = False
    """Whether any line tells of an error or an exception, known or not."""

    @property
    def last(self) -> SparkError | None:
        """The error that counts; None when none was recognised."""
        if not self.errors:
            return None
        last = self.errors[-1]
        if last.names_its_cause:
            return last
        near = [each for each in self.errors if each.line >= last.line - _SAME_FAILURE]
        rank = [each for each in near if each.names_its_cause] or [
            each for each in near if each.cause is not Cause.OTHER
        ]
        return rank[-1] if rank else last


def read_spark_error(text: str) -> ErrorReport:
    """Return what a text tells of the last failure."""
    return read_spark_errors((text,))


def read_spark_errors(pieces: Iterable[str]) -> ErrorReport:
    """Return what a text of any size tells of the last failure, read piece by piece.

    Args:
        pieces: The text, cut anywhere.
    """
    found: dict[str, SparkError] = {}
    number, query_id, has_failure = 0, None, False
    newest: SparkError | None = None
    following = 0
    for number, line in _lines(pieces):
        has_failure = has_failure or _FAILS.search(line) is not None
        query_id = _last(_QUERY, line) or query_id
        seen = list(_errors_in(number, line))
        if not seen and newest is not None and following and not line.lstrip().startswith("at "):
            following -= 1
            newest = _with_numbers(newest, line)
            found[newest.condition] = newest
        for error in seen:
            before = found.pop(error.condition, None)
            newest, following = _keep_numbers(error, before), _FOLLOWING
            found[error.condition] = newest
        if len(found) > MOST_ERRORS:
            del found[next(iter(found))]
    return ErrorReport(
        errors=tuple(found.values()),
        lines=number,
        query_id=query_id,
        has_failure=has_failure or bool(found),
    )


def _errors_in(number: int, line: str) -> Iterator[SparkError]:
    if not _CONDITION.search(line) and not WORDS.search(line):
        return
    line = redact(line)
    named = [
        (match.start(), name, cause)
        for match in _CONDITION.finditer(line)
        for name in (match[1] or match[2],)
        if (cause := cause_of(name)) is not None
    ]
    words = [(match.start(), match[0], message_of(match).cause) for match in WORDS.finditer(line)]
    is_known = any(cause is not Cause.OTHER for _, _, cause in named)
    for start, condition, cause in sorted(named if is_known else named + words, key=_start):
        excerpt = line[max(0, start - 1) :][:LONGEST_LINE]
        error = SparkError(
            cause=cause, condition=_shown(condition), message=_shown(excerpt), line=number
        )
        yield _with_numbers(_with_numbers(error, excerpt), line)


def _start(found: tuple[int, str, Cause]) -> int:
    return found[0]


def _with_numbers(error: SparkError, text: str) -> SparkError:
    """Return an error with the figures that a line of its message adds."""
    batch = error.batch
    if batch is None and (match := _NUMBERS["batch"].search(text)):
        batch = int(match[1] or match[2])
    offsets = error.offsets
    if offsets is None and (match := _NUMBERS["offsets"].search(text)):
        offsets = (int(match[1][:19]), int(match[2][:19]))
    return replace(
        error,
        batch=batch,
        offsets=offsets,
        file=error.file or _first("file", text),
        partition=error.partition or _first("partition", text),
        table=error.table or _first("table", text),
    )


def _first(name: str, text: str) -> str | None:
    found = _NUMBERS[name].search(text)
    return None if found is None else _shown(found[1])


def _keep_numbers(error: SparkError, before: SparkError | None) -> SparkError:
    """Return an error that was seen again within the same failure, with what was known of it."""
    if before is None or error.line - before.line > _SAME_FAILURE:
        return error
    kept = {
        name: getattr(before, name)
        for name in _NUMBERS
        if getattr(error, name) is None and getattr(before, name) is not None
    }
    return replace(error, **kept)


def _last(pattern: re.Pattern[str], line: str) -> str | None:
    found = pattern.findall(line)
    return str(found[-1]) if found else None


def _shown(text: str) -> str:
    """Return foreign text without its secrets as it may be shown: one line, and cut."""
    safe = printable(redact(text).strip())
    return safe if len(safe) <= _EXCERPT else f"{safe[:_EXCERPT]}…"


def _lines(pieces: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, long ones in pieces that overlap."""
    number, rest = 1, ""
    for piece in pieces:
        for start in range(0, len(piece), LONGEST_LINE):
            *lines, rest = (rest + piece[start : start + LONGEST_LINE]).split("\n")
            for line in lines:
                yield number, line
                number += 1
            if len(rest) > LONGEST_LINE:
                yield number, rest
                rest = rest[-_OVERLAP:]
    if rest:
        yield number, rest

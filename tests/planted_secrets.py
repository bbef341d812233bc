"""Finds a planted secret, or any four characters of it in a row, in whatever a run has shown."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

import psycopg

HEAD, TAIL = "Zq7xWj", "Kv9wTb"
"""Of every planted secret; no four of these characters stand together anywhere else."""
FRAGMENT = 4
_ESCAPED = re.compile(r"\\(?:x|u00)([0-9a-f]{2})")
assert psycopg.logger is not None  # imported, so that its logger is known below


def secret(middle: str = "") -> str:
    """Return a secret with something awkward in its middle."""
    return f"{HEAD}{middle}{TAIL}"


def find_leaks(shown: Iterable[str], planted: str) -> list[str]:
    """Return each fragment of a secret that is in one of these texts, as it is or escaped."""
    fragments = {planted[at : at + FRAGMENT] for at in range(len(planted) - FRAGMENT + 1)}
    forms = {form for text in shown for form in _forms(text)}
    return sorted(each for each in fragments if any(each in form for form in forms))


def _forms(text: str) -> Iterator[str]:
    yield text
    yield unquote(text)
    yield text.replace("\\\\", "\\").replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')
    yield _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


@dataclass
class Shown:
    """What a run has shown: its exception with all that is chained to it, and the log."""

    error: BaseException | None = None
    records: list[logging.LogRecord] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Whatever else was looked at: files, rows, output."""

    def all(self) -> list[str]:
        formatter = logging.Formatter("%(name)s %(message)s")
        logged = [f"{formatter.format(each)} {each.args!r}" for each in self.records]
        return [*self.texts, *logged, *_told(self.error)]


def _told(error: BaseException | None) -> Iterator[str]:
    """Yield all that Python prints of an exception, and its attributes."""
    if error is None:
        return
    yield "".join(traceback.format_exception(error))
    while error is not None:
        yield f"{error} {error!r} {error.args!r} {vars(error)!r}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


class _Handler(logging.Handler):
    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(logging.DEBUG)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)


@contextmanager
def watching() -> Iterator[Shown]:
    """Keep what every logger says at any level; of py4j, which carries all calls, from INFO on."""
    shown = Shown()
    handler = _Handler(shown.records)
    known = logging.root.manager.loggerDict.values()
    loggers = [logging.root, *(each for each in known if isinstance(each, logging.Logger))]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.INFO if logger.name.startswith("py4j") else logging.DEBUG)
    logging.root.addHandler(handler)
    try:
        yield shown
    finally:
        logging.root.removeHandler(handler)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def observe(run: Callable[[], object]) -> Shown:
    """Run something that may fail, and keep what it shows."""
    with watching() as shown:
        try:
            returned = run()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it is looked at
            shown.error = error
        else:
            shown.texts.append(repr(returned))
    return shown

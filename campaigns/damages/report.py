"""The result of a sweep as tables in Markdown: by area, by kind of damage and by stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from campaigns.damages.trial import JUDGEMENTS, Said, Trial

_WRONG = "safe and WRONG"


def is_wrong(trial: Trial) -> bool:
    """Return whether a damage was called safe and was not."""
    return _WRONG in (trial.judge(trial.plain), trial.judge(trial.deep))


def report(trials: Sequence[Trial]) -> list[str]:
    """Return the lines of all tables."""
    lines: list[str] = []
    for title, said in (("diagnose", _plain), ("diagnose --deep", _deep)):
        lines += ["", f"## {title}, {len(trials):,} damages", ""]
        for by in _KEYS:
            lines += [*_table(by, trials, said), ""]
    return lines


def _plain(trial: Trial) -> Said:
    return trial.plain


def _deep(trial: Trial) -> Said:
    return trial.deep


_KEYS: dict[str, Callable[[Trial], str]] = {
    "part": lambda trial: trial.area,
    "damage": lambda trial: trial.how,
    "stream": lambda trial: trial.stream,
    "checksum": lambda trial: trial.checksum,
    "what Spark did": lambda trial: trial.did,
}


def _table(by: str, trials: Sequence[Trial], said: Callable[[Trial], Said]) -> Iterator[str]:
    key = _KEYS[by]
    counts = Counter((key(each), each.judge(said(each))) for each in trials)
    yield f"| {by} | {' | '.join(JUDGEMENTS)} | all |"
    yield f"| --- |{' ---: |' * (len(JUDGEMENTS) + 1)}"
    for name in [*sorted({key(each) for each in trials}), "all"]:
        row = [
            sum(number for (at, how), number in counts.items() if name in (at, "all") and how == of)
            for of in JUDGEMENTS
        ]
        yield f"| {name} | {' | '.join(map(str, row))} | {sum(row)} |"

"""A baseline: findings of old code that are not reported again.

A finding is recognised by its file, its code and its line of code, not by its line number. Each
entry counts for one finding, so a second copy of the same line is reported.
"""

from __future__ import annotations

import json
from collections import Counter

from msgspec.structs import replace

from holdfast.lint.check import FileReport, PlacedFinding

FORMAT = "holdfast.lint-baseline"
_Key = tuple[str, str, str]


def make_baseline(reports: list[FileReport]) -> str:
    """Return the baseline of what was found."""
    entries = [_key(report, each) for report in reports for each in report.findings]
    shown = [{"file": file, "code": code, "line": line} for file, code, line in sorted(entries)]
    return json.dumps({"format": FORMAT, "version": 1, "findings": shown}, indent=2) + "\n"


def read_baseline(text: str) -> Counter[_Key] | None:
    """Return the entries of a baseline; None if the text is not one."""
    try:
        read = json.loads(text)
        if read["format"] != FORMAT or read["version"] != 1:
            return None
        entries = [(each["file"], each["code"], each["line"]) for each in read["findings"]]
    except (ValueError, KeyError, TypeError):
        return None
    return Counter(entries)


def without_baseline(reports: list[FileReport], known: Counter[_Key]) -> list[FileReport]:
    """Return the reports without the findings of a baseline."""
    left = Counter(known)
    found: list[FileReport] = []
    for report in reports:
        new: list[PlacedFinding] = []
        for each in report.findings:
            key = _key(report, each)
            if left[key] > 0:
                left[key] -= 1
            else:
                new.append(each)
        found.append(replace(report, findings=tuple(new)))
    return found


def _key(report: FileReport, placed: PlacedFinding) -> _Key:
    return report.path, placed.finding.code, placed.code_line

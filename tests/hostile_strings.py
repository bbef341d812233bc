"""Strings that break whoever shows them as they are: for every text and every format.

`HOSTILE` has them by name. `breaks_terminal` says whether a text would steer a terminal or break
its line; what a format of its own must escape (Markdown, HTML, CSV, SARIF) is tested beside it.
"""

from __future__ import annotations

import unicodedata

HOSTILE: dict[str, str] = {
    "red": "\x1b[31mred\x1b[0m",
    "clears the screen": "\x1b[2J\x1b[H",
    "sets the title": "\x1b]0;owned\x07",
    "hyperlink of a terminal": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "8-bit control": "\x9b31mred",
    "carriage return": "safe\rUNSAFE",
    "newline": "first\nHF000 forged finding",
    "CRLF": "first\r\nsecond",
    "backspaces": "secret\b\b\b\b\b\bshown",
    "bell": "\a\a\a",
    "NUL": "cut\0off",
    "tab": "a\tb",
    "vertical tab and form feed": "a\vb\fc",
    "next line": "a\u0085b",
    "line separator": "a\u2028b\u2029c",
    "right-to-left override": "\u202egnp.exe",
    "right-to-left isolate": "\u2067abc\u2069",
    "zero width": "in\u200bvisible\ufeff",
    "lone surrogate": "half \ud800 of a pair",
    "bytes that are no UTF-8": "caf\udce9",
    "tag characters": "a\U000e0041\U000e0042",
    "private use": "\ue000\U0010ffff",
    "markdown link": "[click](javascript:alert(1))",
    "markdown table": "a | b | c\n| --- |",
    "markdown heading and code": "# head ```rm -rf /``` `x`",
    "markdown image": "![x](http://evil.example/p.png)",
    "HTML": "<script>alert(1)</script>",
    "HTML attribute": '" onmouseover="alert(1)" x=\'',
    "HTML entity and comment": "&lt;b&gt; --> <!-- <b>",
    "CSV formula": '=HYPERLINK("http://evil.example","x")',
    "CSV command": "@SUM(1+1)*cmd|' /C calc'!A0",
    "JSON breaking": '"},{"severity":"note","x":"',
    "SARIF breaking": '{0} {1} [link](0) "ruleId": "HF000"',
    "annotation of CI": "::error file=a::b\n::set-output name=x::y",
    "percent escapes": "%0A::warning::x %s %d {x} ${IFS}",
    "Jinja": "{{ 7 * 7 }}{% raw %}",
    "path outside": "../../etc/passwd",
    "very long": "A" * 100_000,
}


def breaks_terminal(text: str) -> bool:
    """Return whether a line has a character that a terminal obeys, or does not show."""
    return any(unicodedata.category(each) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} for each in text)

"""`python -m tests.house.counts`: the sizes that say whether knowledge is copied through the code.

Prints one line per figure; `--format markdown` prints the table of the page *Architecture*.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.house.repository import python_files

SMALL, EQUAL = 60, 6
SCHEME = re.compile(
    r"""["'](?:s3[an]?|gs|az|abfss?|wasbs?|hdfs|viewfs|s?webhdfs)(?::/{0,2})?["']"""
    r"""|["']file:/{0,2}["']|scheme\b[^\n]*["']file["']"""
)
"""A word alone, such as the unit "file", is none."""
_KINDS = r"(?:Kafka|File|Delta|Iceberg|AutoLoader|Rate|Count|Opaque)\w*Offset"
OFFSETS = re.compile(
    rf"isinstance\([^()]*,\s*[^()]*?{_KINDS}|case {_KINDS}|type\(\w+\) is (?:not )?{_KINDS}"
)


def lines_of(*packages: str) -> int:
    """Return how many lines the modules of packages have."""
    return sum(len(path.read_text().splitlines()) for path in python_files(*packages))


def small_files(package: str) -> int:
    """Return how many modules are shorter than a screen."""
    return sum(len(path.read_text().splitlines()) < SMALL for path in python_files(package))


def equal_pairs(package: str) -> int:
    """Return how many pairs of places have six or more equal lines, one after the other.

    Blank lines, comments, imports and lines without a letter do not count.
    """
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path in python_files(package):
        lines = list(_lines(path))
        for at in range(len(lines) - EQUAL + 1):
            places[tuple(lines[at : at + EQUAL])].append((path, at))
    pairs = {
        (one, other)
        for found in places.values()
        for number, one in enumerate(found)
        for other in found[number + 1 :]
    }
    # A run of seven equal lines is found twice, one line apart: it counts once.
    return sum(
        ((one[0], one[1] - 1), (other[0], other[1] - 1)) not in pairs for one, other in pairs
    )


def any_annotations(package: str) -> int:
    """Return how many arguments, results and fields are annotated with `Any`."""
    return sum(
        any(isinstance(part, ast.Name) and part.id == "Any" for part in ast.walk(annotation))
        for path in python_files(package)
        for annotation in _annotations(ast.parse(path.read_text()))
    )


def files_with(package: str, pattern: re.Pattern[str]) -> int:
    """Return how many modules have a pattern."""
    return sum(pattern.search(path.read_text()) is not None for path in python_files(package))


def files_that_branch() -> list[Path]:
    """Return the modules outside the kinds of sources that ask which class an offset has."""
    kinds = "src/holdfast/sources/"
    return [
        path
        for path in python_files("src")
        if kinds not in path.as_posix() and OFFSETS.search(path.read_text())
    ]


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a module that say something of their own."""
    text = path.read_text()
    imported = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if number not in imported and not bare.startswith("#") and re.search(r"[a-zA-Z]", bare):
            yield bare


def _annotations(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            yield node.returns


FIGURES: dict[str, Callable[[], int]] = {
    "lines of src": lambda: lines_of("src"),
    "files of src": lambda: len(list(python_files("src"))),
    "files of src under 60 lines": lambda: small_files("src"),
    "lines of rules": lambda: lines_of("src/holdfast/rules"),
    "pairs of places with six or more equal lines": lambda: equal_pairs("src"),
    "files that name a scheme of storage": lambda: files_with("src", SCHEME),
    "files outside the kinds that branch on the class of an offset": lambda: len(
        files_that_branch()
    ),
    "annotations with Any": lambda: any_annotations("src"),
}


def main() -> None:
    """Print every figure."""
    as_table = "markdown" in sys.argv
    for name, count in FIGURES.items():
        print(f"| {name} | {count():,} |" if as_table else f"{count():>8,}  {name}")


if __name__ == "__main__":
    main()

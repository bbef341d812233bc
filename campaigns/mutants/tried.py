"""Every mutant tried by the tests that come by it, one after the other in one process.

mutmut itself forks a process for each, which costs a start of pytest and cannot be done with a JVM.
Here pytest's own loop runs its tests again for each mutant of mutmut's code, the quickest first, in
one session: servers and Spark are started once. Run by `campaigns.mutants`, in the directory that
mutmut has made.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from _pytest.runner import runtestprotocol
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state

NOT_TRIED, SURVIVED, KILLED, NO_TESTS, SAME_SQL, TIMED_OUT = None, 0, 1, 33, 34, 36
"""How mutmut writes down what became of a mutant; it calls the fifth skipped."""
LEFT_OVER = (NOT_TRIED, SURVIVED, NO_TESTS)
_SQL = re.compile(
    r"\b(select|update|insert|from|where|join|values|conflict|and|or)\b", re.IGNORECASE
)


class TooSlow(BaseException):
    """A test took much longer than it does without a mutant."""


class Loop:
    """pytest's loop: once to see which functions each test comes by, then for each mutant."""

    def __init__(self, metas: list[Path]) -> None:
        self._metas = metas
        self._comes_by: dict[str, set[str]] = {}
        self._seconds: dict[str, float] = {}
        self._tried: set[str] = set()
        """The tests that were run with a mutant."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """Let conftests define sinks and ledgers, which are now full of names that are alike."""
        mock.patch("holdfast.complete.get_close_matches", _find_alike).start()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every mutant that is left over, and write down at once what became of it."""
        self._measure(session.items)
        session.items.sort(key=lambda item: self._seconds[item.nodeid])
        for meta in self._metas:
            found = json.loads(meta.read_text())
            for mutant, change in find_changes(meta):
                code = SAME_SQL if _is_same_sql(change) else self._try(mutant, session.items)
                found["exit_code_by_key"][mutant] = code
                meta.write_text(json.dumps(found))
        set_mutant_under_test("")
        self._check(session.items)
        return True

    def _measure(self, items: list[Any]) -> None:
        set_mutant_under_test("stats")
        for item in list(items):
            state()._stats.clear()  # noqa: SLF001 - it has no other name
            began = time.monotonic()
            if _run(item, seconds=600):
                print(f"left out, fails without a mutant: {item.nodeid}", flush=True)
                items.remove(item)
                continue
            self._comes_by[item.nodeid] = set(state()._stats)  # noqa: SLF001 - likewise
            self._seconds[item.nodeid] = time.monotonic() - began

    def _check(self, items: list[Any]) -> None:
        """Fail when what a mutant left behind makes a test fail that others were tried by."""
        for item in items:
            if item.nodeid in self._tried and _run(item, seconds=600):
                raise pytest.UsageError(f"{item.nodeid} fails without a mutant, afterwards")

    def _try(self, mutant: str, items: list[Any]) -> int:
        function = mutant.rpartition("__mutmut_")[0]
        chosen = [item for item in items if function in self._comes_by[item.nodeid]]
        set_mutant_under_test(mutant)
        for item in chosen:
            self._tried.add(item.nodeid)
            failed = _run(item, seconds=10 + 10 * self._seconds[item.nodeid])
            if failed:
                print(f"{failed} {mutant} {item.nodeid}", flush=True)
                return TIMED_OUT if failed == "timed out" else KILLED
        print(f"{'survived' if chosen else 'not come by'} {mutant}", flush=True)
        return SURVIVED if chosen else NO_TESTS


def find_changes(meta: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each mutant that is left over, and the lines that it changes."""
    codes = json.loads(meta.read_text())["exit_code_by_key"]
    functions = {
        node.name: ast.unparse(node).splitlines()[1:]
        for node in ast.walk(ast.parse(meta.with_suffix("").read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    for mutant in [name for name, code in codes.items() if code in LEFT_OVER]:
        function, _, number = mutant.rpartition(".")[2].rpartition("_")
        before, after = functions[f"{function}_orig"], functions[f"{function}_{number}"]
        lines = difflib.unified_diff(before, after, n=0, lineterm="")
        yield mutant, [each for each in lines if not each.startswith(("---", "+++", "@@"))]


def _is_same_sql(change: list[str]) -> bool:
    """Return whether only the case of a statement differs, which means the same to PostgreSQL."""
    texts = [line[1:].lower() for line in change]
    is_case_alone = len(texts) == 2 and texts[0] == texts[1]
    return is_case_alone and bool(_SQL.search(texts[0])) and "%S" not in change[1]


def _run(item: Any, *, seconds: float) -> str | None:
    """Run a test and say how it failed; what the whole session shares is kept."""
    item._initrequest()  # noqa: SLF001 - as those do who run tests again
    with _at_most(seconds) as too_slow:
        reports = runtestprotocol(item, log=False, nextitem=item.session)
    failed = any(report.failed for report in reports)
    return ("timed out" if too_slow else "killed") if failed or too_slow else None


@contextmanager
def _at_most(seconds: float) -> Iterator[list[TooSlow]]:
    """Stop what takes longer, and give what it was stopped by."""
    stopped: list[TooSlow] = []

    def stop(*_: object) -> None:
        stopped.append(TooSlow())
        raise stopped[-1]

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)  # again, where it was caught
    try:
        yield stopped
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _find_alike(name: str, *others: Any, **options: Any) -> list[str]:
    """Find no name like mutmut's own, whose methods stand beside those that they are made of."""
    return [] if "__mutmut_" in name else difflib.get_close_matches(name, *others, **options)


def main() -> int:
    """Try mutants: `python -m campaigns.mutants.tried META... -- TEST...`."""
    border = sys.argv.index("--")
    sys.path.insert(0, str(Path("src").absolute()))
    options = ["-q", "-s", "--tb=native", "-p", "no:cacheprovider"]
    loop = Loop([Path(name) for name in sys.argv[1:border]])
    return int(pytest.main([*options, *sys.argv[border + 1 :]], plugins=[loop]))


if __name__ == "__main__":
    sys.exit(main())

"""One planted bug, drawn by the seed, is found; all are `python -m campaigns.planted`.

Drawn of those that tests find: a drill is run twice for a bug, and takes too long here.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from campaigns.planted.bug import read_bugs
from campaigns.planted.catch import catch, run_unchanged
from campaigns.planted.run import Bench


@pytest.mark.usefixtures("class_archive")
def test_a_planted_bug_is_found_by_what_is_said_to_find_it(
    database: str, tmp_path: Path, seed: int
) -> None:
    quick = [bug for bug in read_bugs().values() if bug.is_quick]
    bug = random.Random(seed).choice(quick)
    bench = Bench(home=tmp_path, dsn=database, seed=seed)
    assert run_unchanged(bench, [bug]) == {}, bug.name
    caught = catch(bench, bug)
    assert caught.is_caught, caught

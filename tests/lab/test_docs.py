"""Every Python example of the pages about the lab runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.house.repository import ROOT

BLOCKS = {
    f"{page.name}-{number}": block
    for page in sorted(ROOT.glob("docs/contributing/*.md"))
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=list(BLOCKS))
def test_the_example_runs(block: str) -> None:
    subprocess.run([sys.executable, "-c", block], check=True, cwd=ROOT)

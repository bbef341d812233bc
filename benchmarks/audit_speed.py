"""How long `holdfast audit` takes for 500, 2,000 and 5,000 files, one in five with a query.

    python -m benchmarks.audit_speed

The complete process, with its start: programs and other Python files, job definitions beside them.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.lint_speed import OTHER, STREAMING

SIZES = (500, 2_000, 5_000)
MOST_SECONDS = 60.0


def main() -> None:
    """Time each size, and fail if the largest takes too long."""
    for files in SIZES:
        with tempfile.TemporaryDirectory() as directory:
            _write(Path(directory), files)
            command = [sys.executable, "-m", "holdfast", "audit", directory, "--format", "json"]
            began = time.perf_counter()
            ran = subprocess.run(command, check=False, capture_output=True, text=True)
            seconds = time.perf_counter() - began
        found = json.loads(ran.stdout)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        queries, jobs = len(found["queries"]), len(found["jobs"])
        print(
            f"{files:,} files, {queries:,} queries, {jobs:,} jobs: {seconds:.1f} s, {peak:,} MB "
            "in the largest process"
        )
        if seconds > MOST_SECONDS:
            sys.exit(f"More than {MOST_SECONDS} s is too long.")


def _write(directory: Path, files: int) -> None:
    for number in range(files):
        text = STREAMING.replace('"orders")\nquery', f'"orders_{number}")\nquery')
        text = text.replace('start(orders, "orders")', f'start(orders, "orders_{number}")')
        Path(directory, f"job_{number:05}.py").write_text(text if number % 5 == 0 else OTHER)
        if number % 50 == 0:
            task = {"spark_python_task": {"python_file": f"job_{number:05}.py"}}
            Path(directory, f"job_{number:05}.json").write_text(json.dumps(task))


if __name__ == "__main__":
    main()

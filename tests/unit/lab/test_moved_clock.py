from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from lab.faults.clock import MovedClock

TELLS = "import sys, time\nfor _ in sys.stdin: print(time.time(), time.monotonic(), flush=True)"
NEAR_S = 60


def test_the_time_of_day_moves_while_a_process_runs_and_the_clock_it_waits_by_does_not(
    tmp_path: Path,
) -> None:
    clock = MovedClock(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", TELLS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **clock.environment},
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for seconds in (0, 600, -600):
            clock.move(seconds)
            process.stdin.write("\n")
            process.stdin.flush()
            wall, monotonic = map(float, process.stdout.readline().split())
            assert abs(wall - time.time() - seconds) < NEAR_S
            assert abs(monotonic - time.monotonic()) < NEAR_S
        process.stdin.close()

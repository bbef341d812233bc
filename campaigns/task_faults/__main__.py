"""`python -m campaigns.task_faults`."""

from __future__ import annotations

import sys

from campaigns.task_faults.scenes import main

if __name__ == "__main__":
    main(sys.argv[1:])

"""`python -m campaigns.executor_faults`."""

from __future__ import annotations

from campaigns.executor_faults.runs import main

if __name__ == "__main__":
    main()

"""`python -m campaigns.other_sinks`."""

from __future__ import annotations

from campaigns.other_sinks.table import main

if __name__ == "__main__":
    main()

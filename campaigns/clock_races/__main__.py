"""`python -m campaigns.clock_races`."""

from __future__ import annotations

from campaigns.clock_races.races import main

if __name__ == "__main__":
    main()

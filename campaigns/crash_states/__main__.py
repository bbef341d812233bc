"""`python -m campaigns.crash_states`."""

from __future__ import annotations

from campaigns.crash_states.replay import main

if __name__ == "__main__":
    main()

"""`python -m campaigns.restart_damage`."""

from __future__ import annotations

from campaigns.restart_damage.scenarios import main

if __name__ == "__main__":
    main()

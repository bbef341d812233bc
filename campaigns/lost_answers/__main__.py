"""`python -m campaigns.lost_answers`."""

from __future__ import annotations

from campaigns.lost_answers.scenes import main

if __name__ == "__main__":
    main()

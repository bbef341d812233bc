"""`python -m campaigns.planted`."""

from __future__ import annotations

from campaigns.planted.catch import main

if __name__ == "__main__":
    main()

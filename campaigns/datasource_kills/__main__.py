"""`python -m campaigns.datasource_kills [4.1|4.2|4.3]... [kept|staged|merge]...`."""

from __future__ import annotations

import sys

from campaigns.datasource_kills.chains import main

if __name__ == "__main__":
    main(sys.argv[1:])

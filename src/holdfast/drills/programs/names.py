"""Finds what a user names, and says what cannot be found.

python names.py app:start app:rows
"""

from __future__ import annotations

import sys

from holdfast.errors import ConfigError
from holdfast.named import load_named

if __name__ == "__main__":
    try:
        for each in sys.argv[1:]:
            load_named(each)
    except ConfigError as error:
        sys.exit(error.why)

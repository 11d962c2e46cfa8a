"""Runs the command of the package: python -m largemvc fit -h"""

import os
import subprocess
import sys

from ._process import binary


def main() -> None:
    """Run the command with the arguments of this program."""
    args = [binary(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(args))
    os.execv(args[0], args)


if __name__ == "__main__":
    main()

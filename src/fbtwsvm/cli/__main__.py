"""``python -m fbtwsvm.cli`` is the command ``fbtwsvm``."""

from . import main

main()

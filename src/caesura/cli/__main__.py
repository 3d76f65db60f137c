"""`python -m caesura.cli` is `caesura`."""

from caesura.cli import main

main()

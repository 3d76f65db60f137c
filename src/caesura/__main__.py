"""`python -m caesura` is the command `caesura`."""

from caesura.cli import main

main()

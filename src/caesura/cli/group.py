"""The commands as a whole: a mistake ends with one sentence on stderr and exit code 2."""

import re
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from caesura.cli.output import noted_warnings
from caesura.errors import CaesuraError, one_line

# Depending on its version, Typer brings its own copy of Click or uses the installed one; either way
# this is the base class of the errors of the option parser.
UsageError: Any = typer.BadParameter.__bases__[0]


class OneSentence(TyperGroup):
    """A group of commands that shows a user's mistakes without a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands; Typer would put `fill`, which is a group, last."""
        return sorted(super().list_commands(ctx), key=lambda name: name != "fill")

    def main(self, *args: Any, **extra: Any) -> None:
        """Run the command and leave the process with its exit code."""
        try:
            with noted_warnings():
                code = super().main(*args, **extra | {"standalone_mode": False})
            sys.stdout.flush()  # now, while a full disk can still be reported
        except CaesuraError as error:
            code = _fail(str(error))
        except UsageError as error:
            # It is empty if a command without arguments has shown its help: no mistake.
            code = _fail(one_line(_sentence(error))) if str(error) else 0
        except UnicodeEncodeError as error:
            code = _fail(f"The output's encoding '{error.encoding}' cannot show the answer.")
        except OSError as error:
            code = _fail(f"Cannot continue: {one_line(error.strerror or str(error)).lower()}.")
            sys.stdout = None  # or Python would try once more
        except MemoryError:
            code = _fail("There is too little memory: ask for less at a time.")
        except typer.Abort:
            code = 130
        sys.exit(code if isinstance(code, int) else 0)


def _fail(sentence: str) -> int:
    print(f"Error: {sentence}", file=sys.stderr)
    return 2


def _sentence(error: Any) -> str:
    """Return the parser's message as one sentence that says where to read more."""
    message = re.sub(r"\s+", " ", error.format_message()).strip()
    message = message.replace(". Did you mean", ": did you mean")
    if message.endswith("?"):
        return message
    command = error.ctx.command_path if error.ctx else "caesura"
    return f"{message.rstrip('.')}; `{command} --help` says more."

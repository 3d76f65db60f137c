"""`python -m caesura.cli.docs` prints docs/cli.md, made from the help of the commands."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from caesura.cli import app


def commands(command: Any = None, path: str = "caesura") -> Iterator[tuple[str, Any]]:
    """Yield every command with what is typed for it, groups before their members."""
    command = command or get_command(app)
    yield path, command
    for name in names_in(command):
        yield from commands(command.commands[name], f"{path} {name}")


def names_in(group: Any) -> list[str]:
    """Return the names of the members of a group, in the order of its help; none of a command."""
    return group.list_commands(None) if hasattr(group, "commands") else []


def render() -> str:
    """Return the page; it does not depend on the terminal, so it is the same everywhere."""
    parts = [
        "# The command line",
        "<!-- Made by `make docs` from the commands' own help: change that, not this. -->",
    ]
    for path, command in commands():
        if path != "caesura":
            parts.append(f"## `{path}`")
        parts.append(_plain(inspect.cleandoc(command.help)))
        if hasattr(command, "commands"):
            names = ", ".join(f"`{path} {name}`" for name in names_in(command))
            parts.append(f"Commands: {names}.")
        else:
            parts.append(f"```\n{_usage(path, command)}\n```")
        if params := [p for p in command.params if p.name != "help"]:
            parts.append("\n".join(map(_item, params)))
    return "\n\n".join(parts) + "\n"


def _usage(path: str, command: Any) -> str:
    words = [path]
    for param in command.params:
        name = str(param.metavar)
        if param.param_type_name == "argument":
            name += "..." if param.nargs == -1 else ""
            words.append(name if param.required else f"[{name}]")
        elif param.required:
            words.append(f"{_names(param)[0]} {name}")
    return " ".join([*words, "[OPTIONS]"])


def _item(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"- `{param.metavar}`: {_help(param)}"
    value = f" {param.metavar}" if param.metavar else ""  # a flag has none
    names = ", ".join(f"`{name}{value}`" for name in _names(param))
    return f"- {names}: {_help(param)}"


def _names(param: Any) -> list[str]:
    """Return the names, the short one first, as in the usage of other programs."""
    return sorted(param.opts, key=len)


def _help(param: Any) -> str:
    return _plain(_sentence(param))


def _plain(text: str) -> str:
    """Return a help text as Markdown that shows it as it is, except for code in backticks."""
    parts = re.split("(`[^`]*`)", text)
    marks = re.compile(r"(?<!\w)_|_(?!\w)|[*]")

    def shown(part: str) -> str:
        # Not "\<", which only some dialects of Markdown know.
        return part if part.startswith("`") else marks.sub(r"\\\g<0>", part.replace("<", "&lt;"))

    return "".join(map(shown, parts))


def _sentence(param: Any) -> str:
    if isinstance(param.show_default, str):
        default = param.show_default
    elif param.required or param.default is None or param.default is False:
        return str(param.help)
    else:
        default = str(getattr(param.default, "value", param.default))
    return f"{param.help} Default: {default}."


if __name__ == "__main__":
    print(render(), end="")

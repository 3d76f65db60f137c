"""`caesura data`: the public sets that can be trained and measured on, and texts packed for it."""

from pathlib import Path
from typing import Annotated

import typer

from caesura.cli.live_line import LiveLine
from caesura.cli.options import DataFolder, Json
from caesura.cli.output import answer_json, answer_table, note

app = typer.Typer(no_args_is_help=True, help="List, fetch and verify public data sets; pack texts.")


@app.command("list")
def list_sets(folder: DataFolder = None, json: Json = False) -> None:
    """List the public sets, and which of them are in the data folder."""
    from rich.filesize import decimal

    from caesura.datasets import data_folder, listing

    rows = listing(folder)
    if json:
        answer_json({"folder": str(data_folder(folder)), "sets": [row._asdict() for row in rows]})
        return
    answer_table(
        ["name", "kind", "description", "licence", "here"],
        [
            [
                row.name,
                row.kind,
                row.description,
                row.licence,
                decimal(row.size) if row.present else "no",
            ]
            for row in rows
        ],
        left=4,
    )
    note(f"The data folder is '{data_folder(folder)}'.")


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="The sets to download.")],
    folder: DataFolder = None,
    json: Json = False,
) -> None:
    """Download sets into the data folder and check that they are what they should be."""
    from rich.filesize import decimal

    from caesura.datasets import DATASETS, data_folder, fetch
    from caesura.errors import lookup

    for name in names:  # a mistake in the last is not found out after the first's download
        lookup(DATASETS, name, "data set")
    fetched = {}
    for name in names:
        with LiveLine() as line:

            def show(done: int, total: int | None, name: str = name, line: LiveLine = line) -> None:
                line.show(f"{name}: {decimal(done)}" + (f" of {decimal(total)}" if total else ""))

            fetched[name] = fetch(name, folder, progress=show)
        note(f"{name}: {'fetched' if fetched[name] else 'here already'}")
    if json:
        answer_json({"folder": str(data_folder(folder)), "fetched": fetched})


@app.command()
def pack(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Files, folders of .txt, or public sets by name, as for `caesura train text`.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PACKED", help="The folder to make.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A field of the text: alphabet, alphabet_size or gap_char; may be given several "
            "times.",
        ),
    ] = None,
    folder: DataFolder = None,
    json: Json = False,
) -> None:
    """Pack texts into a folder from which `caesura train text` reads only what it needs.

    For texts that are larger than memory, or in very many files: they are read here, little by
    little and twice, and never again. A model that is trained on PACKED is the one that would be
    trained on DATA. A character takes a byte with an alphabet of up to 128, and two beyond.
    """
    from caesura.cli.sources import load_sources, parse_sources
    from caesura.training.corpus.packed import pack
    from caesura.training.recipe import parse_setting

    sources = parse_sources(data, "text", "train")
    fields = dict(parse_setting(setting) for setting in settings or [])
    with LiveLine() as line:
        packed = pack(
            list(load_sources(sources, folder)),
            output,
            fields,
            progress=lambda work, characters: line.show(f"{work}: {characters:,} characters"),
        )
    told = {"folder": str(output), "texts": len(packed.pieces)}
    told |= {"characters": len(packed.pieces.values), "symbols": packed.kind.size}
    if json:
        answer_json(told)
    else:
        print("{folder}: {texts} texts, {characters} characters, {symbols} symbols".format(**told))


@app.command()
def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="The sets to verify.",
            show_default="those in the data folder",
        ),
    ] = None,
    folder: DataFolder = None,
    json: Json = False,
) -> None:
    """Verify that the files of sets hold what they should; exit code 1 if any does not."""
    from caesura.datasets import data_folder, listing, verify

    chosen = names or [row.name for row in listing(folder) if row.size]
    states = {name: verify(name, folder) for name in chosen}
    if json:
        answer_json({"folder": str(data_folder(folder)), "sets": states})
    elif states:
        answer_table(
            ["set", "file", "state"],
            [[name, *state] for name, files in states.items() for state in files.items()],
            left=3,
        )
    else:
        note(f"There is no set in '{data_folder(folder)}'.")
    if any(state != "ok" for files in states.values() for state in files.values()):
        raise typer.Exit(1)

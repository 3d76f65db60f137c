"""`caesura data`: public sets to train and measure on, and packed texts."""

from pathlib import Path

import typer

from caesura.cli.options import DataDirectory, Json, documented
from caesura.cli.output import answer_json, answer_table, note

app = typer.Typer(no_args_is_help=True, help="List, fetch and verify public data sets; pack texts.")


@app.command("list")
def list_sets(folder: DataDirectory = None, json: Json = False) -> None:
    """List the public sets, and which of them are in the data directory."""
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
    note(f"The data directory is '{data_folder(folder)}'.")


@app.command()
@documented
def fetch(names: list[str], folder: DataDirectory = None, json: Json = False) -> None:
    """Download sets into the data directory and check their hashes.

    Parameters
    ----------
    names : NAME
        The sets to download.
    """
    from caesura.datasets import DATASETS, data_folder, fetch
    from caesura.errors import lookup
    from caesura.training.progress import counting

    for name in names:  # a mistake in the last is found before the first is downloaded
        lookup(DATASETS, name, "data set")
    fetched = {}
    for name in names:
        with counting(f"{name}:", "bytes") as count:
            fetched[name] = fetch(name, folder, progress=count)
        note(f"{name}: {'fetched' if fetched[name] else 'already here'}")
    if json:
        answer_json({"folder": str(data_folder(folder)), "fetched": fetched})


@app.command()
@documented
def pack(
    data: list[str],
    output: Path,
    settings: list[str] | None = None,
    folder: DataDirectory = None,
    json: Json = False,
) -> None:
    """Pack texts into a directory from which `caesura train text` reads only what it needs.

    This is for texts larger than memory, or in very many files: they are read twice, piece by
    piece. A model trained on PACKED equals one trained on DATA. A character takes one byte if the
    alphabet has up to 128 symbols, and two otherwise.

    Parameters
    ----------
    data : DATA
        Files, directories of .txt or .xml, or public sets by name, as for `caesura train text`.
    output : --output, -o PACKED
        The directory to make.
    settings : --set, -s NAME=VALUE
        A field of the text: alphabet, alphabet_size, gap_char, brackets, notation, normalise or
        lost; may be given several times.
    """
    from caesura.cli.parsing import load_sources, parse_source
    from caesura.training.corpus.packed import pack
    from caesura.training.progress import counting
    from caesura.training.recipe import parse_setting

    sources = [parse_source(name, "text", "train") for name in data]
    fields = dict(parse_setting(setting) for setting in settings or [])
    with counting("characters:") as count:
        packed = pack(
            list(load_sources(sources, folder)),
            output,
            fields,
            progress=lambda work, characters: count(characters, None, work),
        )
    told = {"folder": str(output), "texts": len(packed.pieces)}
    told |= {"characters": len(packed.pieces.values), "symbols": packed.kind.frame.size}
    if json:
        answer_json(told)
    else:
        print("{folder}: {texts} texts, {characters} characters, {symbols} symbols".format(**told))


@app.command()
@documented
def verify(
    names: list[str] | None = None, folder: DataDirectory = None, json: Json = False
) -> None:
    """Verify the hashes of the files of sets; exit code 1 if one does not match.

    Parameters
    ----------
    names : NAME
        The sets to verify. Default: those in the data directory.
    """
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

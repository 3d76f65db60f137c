"""`caesura parallels`: an index of texts, and the passages in it that are like others."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caesura.cli.options import Json, Leiden, NotationOption, documented, notation_of
from caesura.cli.output import answer_json, check_output, note
from caesura.errors import CaesuraError

if TYPE_CHECKING:
    from caesura.kinds.text.document import Document
    from caesura.parallels import Parallel

app = typer.Typer(
    no_args_is_help=True,
    help="Make an index of texts, and find the passages in it that are like others.",
)
PACKED = ".jsonl.xz"  # of papyri, one JSON document a line


@app.command()
@documented
def build(
    data: list[Path],
    output: Path,
    notation: NotationOption = None,
    leiden: Leiden = False,
    json: Json = False,
) -> None:
    """Make an index of texts for `caesura parallels find` and `caesura fill text --parallels`.

    It holds the letters of the texts without case, accents, punctuation and blanks. Texts that
    cannot be read are left out, and a note says which.

    Parameters
    ----------
    data : DATA
        Files or directories of .txt, .txt.xz or .xml, whose ids are their names, or files of
        papyri, .jsonl.xz, which have ids. XML is read as EpiDoc, and papyri are in Leiden notation.
    output : --output, -o FILE
        The index to write.
    """
    from caesura.kinds import Text
    from caesura.parallels import Parallels
    from caesura.parallels.corpus import make_corpus
    from caesura.parallels.reading import read_document
    from caesura.training.progress import counting

    check_output(output, data)
    # Any alphabet will do: only how the texts are written counts.
    plain = Text("?", notation=notation_of(notation, leiden) or "plain")
    edited = Text("?", notation="leiden")
    left_out: list[tuple[str, str]] = []

    def read() -> Iterator[tuple[str, "Document"]]:
        with counting("texts read:") as count:
            for done, (name, text, is_edited) in enumerate(_texts(data), start=1):
                count(done)
                try:
                    yield name, read_document(text, edited if is_edited else plain)
                except CaesuraError as error:
                    left_out.append((name, str(error)))

    corpus = make_corpus(read())
    Parallels(corpus).save(output)
    if left_out:
        name, reason = left_out[0]
        number = "One text is" if len(left_out) == 1 else f"{len(left_out)} texts are"
        note(f"{number} left out, such as '{name}': {reason}")
    told = {"file": str(output), "texts": len(corpus.ids), "letters": len(corpus.text)}
    if json:
        answer_json(told | {"left_out": [name for name, _ in left_out]})
    else:
        print("{file}: {texts} texts, {letters} letters".format(**told))


@app.command()
@documented
def find(
    index: Path,
    text: str,
    count: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many passages to show at most.")
    ] = 5,
    json: Json = False,
) -> None:
    """Find the passages of an index that are most like a text.

    They are shown in normalised letters, with the number of letters around the bracket that are the
    same.

    Parameters
    ----------
    index : INDEX
        A file made by `caesura parallels build`.
    text : TEXT
        The text in Leiden notation. The first bracket has the reading that is looked for, or a dot
        for each letter that may be any, as in "ἔτους [πέμ]πτου" or "ἔτους [....] του". Without
        brackets, the whole text is looked for.
    """
    from caesura.parallels import Parallels, read_question

    found = Parallels.load(index).find(*read_question(text), count=count)
    if json:
        answer_json({"passages": [one._asdict() for one in found]})
        return
    for one in found:
        print(shown(one))
    if not found:
        note("There is no such passage.")


def shown(one: "Parallel") -> str:
    """Return a passage on one line: its document, and what stands there."""
    letters = "1 letter" if one.matching == 1 else f"{one.matching} letters"
    return f"{one.id}: …{one.before} [{one.part}] {one.after}… ({letters} around it are the same)"


def _texts(data: list[Path]) -> Iterator[tuple[str, str, bool]]:
    """Yield the id of each text, the text, and whether it is an edition whatever is said."""
    from lzma import LZMAError

    from caesura.datasets.papyri import documents
    from caesura.files import read_small
    from caesura.kinds import Text
    from caesura.kinds.text.files import MOST_BYTES, read_text

    for path in data:
        if path.name.lower().endswith(PACKED):
            try:
                for papyrus in documents(read_small(path, MOST_BYTES)):
                    yield papyrus.id, papyrus.text, True
            except CaesuraError:
                raise
            except (LZMAError, ValueError, KeyError, TypeError, EOFError) as error:
                raise CaesuraError(f"The file '{path}' does not hold papyri.") from error
            continue
        for file in Text.find([path]):
            name = file.relative_to(path).as_posix() if path.is_dir() else file.name
            yield name, read_text(file), file.suffix.lower() == ".xml"

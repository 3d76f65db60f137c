"""XML that users bring, read safely: no entities, no other files, a bounded depth.

The parser is the expat of Python's standard library. It opens no files, and a document type with
declarations is refused, so nothing can grow while it is read: there is no need for another library.
"""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from xml.parsers import expat

from caesura.errors import CaesuraError

DEEPEST = 200  # elements inside each other
UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)


def as_utf8(content: bytes) -> bytes:
    """Return XML in UTF-16, as some notation programs write it, in UTF-8; other XML as it is."""
    if not content.startswith(UTF16):
        return content
    try:
        text = content.decode("utf-16")
    except UnicodeDecodeError as error:
        raise CaesuraError("The XML is not complete UTF-16.") from error
    return re.sub(r"(?i)^(<\?xml[^>]*encoding=.)utf-16", r"\1UTF-8", text).encode()


class Reader:
    """Reads a file; what it meets is left to the classes derived from it."""

    def __init__(self, content: bytes) -> None:
        self.content, self.depth = content, 0
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = False  # each piece of text comes with its own place
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.text
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        # There is no handler for external entities: expat opens no files.

    def read(self) -> None:
        """Read everything, or raise one sentence."""
        try:
            self.parser.Parse(self.content, True)
        except expat.ExpatError as error:
            reason, column = expat.ErrorString(error.code), error.offset + 1
            raise CaesuraError(
                f"The XML cannot be read: {reason} at line {error.lineno}, column {column}."
            ) from error

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""

    def end(self, name: str) -> None:
        """Close an element."""

    def text(self, text: str) -> None:
        """Meet a piece of text."""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise CaesuraError(
                f"The XML has more than {DEEPEST} levels of elements at {self._where()}."
            )
        self.start(name.rpartition(":")[2], attributes)

    def _end(self, name: str) -> None:
        self.depth -= 1
        self.end(name.rpartition(":")[2])

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        """Refuse other encodings, since what is written has to agree with them."""
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8"):
            raise CaesuraError(f"The XML has the encoding '{encoding}': save it as UTF-8.")

    def _doctype(self, name: str, system: object, public: object, declares: int) -> None:
        """Refuse declarations: entities and default attributes can grow without bound."""
        if declares:
            raise CaesuraError(
                f"The DOCTYPE of the XML has declarations at {self._where()}: remove them."
            )

    def _where(self) -> str:
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber
        return f"line {line}, column {column + 1}"

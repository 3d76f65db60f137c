"""The numbers in the tables of the paper, and the recipes that give ours."""

from typing import NamedTuple

ITEMS = ("table1", "table2", "table3", "figure2", "figure3")
CHAINS = 100  # per gap; the probability is averaged over them

# The data sets in the order of the paper's columns, with the paper's names for them.
DATASETS = {
    "wiki96": "Wikipedia",
    "nottingham": "Nottingham",
    "piano_midi": "Piano",
    "musedata": "Muse",
    "jsb_chorales": "JSB",
}


# We train nets as in the paper, as one would today, and with our own head, in which the notes of a
# frame depend on each other.
SOURCES = {"paper": "the paper's recipes", "modern": "modern recipes", "frames": "dependent notes"}


class Row(NamedTuple):
    """A row of the paper, and by source the recipe that gives our numbers for it."""

    title: str
    strategy: str  # empty in Table 2, where nothing is filled
    recipes: dict[str, str]
    values: tuple[float | None, ...]  # in the order of DATASETS


GSN = Row(
    "GSN",
    "gsn",
    {"paper": "paper-brnn", "modern": "nade", "frames": "frames"},
    (4.60, 19.1, 38.8, 37.3, 43.8),
)
NADE = Row(
    "NADE",
    "nade",
    {"paper": "paper-nade", "modern": "nade", "frames": "frames"},
    (4.88, 18.5, 39.4, 34.7, 44.6),
)
ONEGRAM = Row(
    "One-gram",
    "onegram",
    {"paper": "paper-nade", "modern": "nade"},
    (23.3, 145.0, 138.0, 147.0, 118.0),
)

# The NLL of gaps of five steps, in nats.
TABLE1 = (
    GSN,
    Row("NADE masked", "nade", {"paper": "paper-nade-masked"}, (4.86, 19.0, 40.4, 36.5, 44.3)),
    NADE,
    Row(
        "Bayesian MCMC",
        "bayes",
        {"paper": "paper-rnn", "modern": "rnn"},
        (4.37, None, None, None, None),
    ),
    Row(
        "Bayesian, by importance",  # the same posterior, where it cannot be enumerated
        "sir",
        {"paper": "paper-nade+paper-rnn", "modern": "nade+rnn", "frames": "frames+frames-rnn"},
        (None, None, None, None, None),
    ),
    Row(
        "One-way inference",
        "oneway",
        {"paper": "paper-rnn", "modern": "rnn", "frames": "frames-rnn"},
        (5.79, 19.2, 38.9, 37.6, 43.9),
    ),
    ONEGRAM,
)

# The NLL of single steps, in nats; the paper quotes the last two rows from other papers.
TABLE2 = (
    Row("BRNN", "", {"paper": "paper-brnn"}, (0.37, 3.23, 6.82, 5.68, 7.80)),
    Row("NADE masked", "", {"paper": "paper-nade-masked"}, (0.55, 3.32, 7.42, 6.48, 8.51)),
    Row(
        "NADE",
        "",
        {"paper": "paper-nade", "modern": "nade", "frames": "frames"},
        (0.41, 2.89, 7.05, 5.54, 7.59),
    ),
    Row(
        "Unidirectional RNN",
        "",
        {"paper": "paper-rnn", "modern": "rnn", "frames": "frames-rnn"},
        (1.21, 3.87, 7.88, 7.43, 8.76),
    ),
    Row("Boulanger-Lewandowski et al. 2012", "", {}, (None, 4.46, 8.37, 8.13, 8.71)),
    Row("Hermans and Schrauwen 2013", "", {}, (1.12, None, None, None, None)),
)

TABLES = {"table1": TABLE1, "table2": TABLE2}


def gaps(dataset: str, strategy: str) -> int | None:
    """Return the number of gaps that the paper measures on, or None for all gaps."""
    if dataset != "wiki96":
        return None
    return 1_000 if strategy == "bayes" else 50_000

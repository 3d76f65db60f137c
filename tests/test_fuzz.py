"""Hypothesis makes files and options that nobody would write; the readers hold out."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damage import NUMBERS, WORDS
from fuzz import input_of, records, run, table
from hostile import (
    READERS,
    fill_series,
    model_bytes,
    read_as_csv,
    read_as_plan,
    read_as_recipe,
    show_model,
    type_words,
)
from model_files import document_of, make_filler, tiny_filler, with_document

MODEL, SERIES = model_bytes(tiny_filler()), model_bytes(make_filler("mixture"))

EXAMPLES = int(os.environ.get("CAESURA_FUZZ_EXAMPLES", "60"))  # of each kind
patiently = settings(
    max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@st.composite
def damaged(draw, seeds):
    """A file that was sound, with a few changes of the kinds that break readers."""
    content = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        stop = min(len(content), at + draw(st.integers(0, 9)))
        piece = draw(st.one_of(st.sampled_from(NUMBERS + WORDS), st.binary(max_size=9)))
        content = draw(
            st.sampled_from(
                [
                    content[:at] + piece + content[at + len(piece) :],
                    content[:at] + piece + content[at:],
                    content[:at] + content[stop:],
                    content[:at] + content[at:stop] * 3 + content[stop:],
                    content[:at],
                ]
            )
        )
    return content


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_gets_one_sentence(name):
    read, seeds = READERS[name]

    @patiently
    @given(damaged(seeds))
    def check(content):
        read(content)

    check()


@pytest.mark.parametrize("name", READERS)
def test_any_bytes_are_read_or_get_one_sentence(name):
    @patiently
    @given(st.binary(max_size=200))
    def check(content):
        READERS[name][0](content)

    check()


def test_inputs_are_counted_and_the_count_continues_after_a_stop(tmp_path):
    run(30, tmp_path, ["packed"])
    with open(tmp_path / "fuzz.jsonl", "a") as state:
        state.write('{"reader": "packed", "inp')  # it was killed here
    done = run(50, tmp_path, ["packed"])
    assert [record["inputs"] for record in done] == [30, 20]
    assert done == records(tmp_path / "fuzz.jsonl")
    assert "| packed | 50 | 0 |" in table(done)
    assert len({input_of("packed", number) for number in range(50)}) > 40
    assert input_of("packed", 7) == input_of("packed", 7)


def test_what_breaks_a_reader_is_counted(tmp_path, monkeypatch):
    monkeypatch.setitem(READERS, "broken", (lambda content: content.decode("ascii"), [b"a"]))
    (record,) = run(200, tmp_path, ["broken"])
    assert record["errors"]
    for number, said in record["errors"].items():
        assert "UnicodeDecodeError" in said
        with pytest.raises(UnicodeDecodeError):
            input_of("broken", number).decode("ascii")


cells = st.one_of(
    st.sampled_from(["", "NA", "1", "0", "-1e308", "1e308", "nan", "inf", "9" * 400, "x" * 9999]),
    st.sampled_from(["2024-01-01", "2024-01-01T00:00+02:00", "0001-01-01", "9999-12-31", "True"]),
    st.sampled_from(['"', '"a\nb"', "a,b", "1_0", "0x10", "１", "1,5", "10:30", "1/2/3", "\ufeff"]),
    st.floats().map(str),
    st.integers().map(str),
    st.datetimes().map(str),
    st.text(max_size=9),
)


@patiently
@given(
    st.lists(st.lists(cells, min_size=1, max_size=4), min_size=1, max_size=9),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-16", "latin-1"]),
)
def test_any_table_is_read_or_gets_one_sentence(rows, comma, line, encoding):
    text = line.join(comma.join(row) for row in rows)
    read_as_csv(text.encode(encoding, "replace"))


columns = st.sampled_from(
    [
        [f"2024-01-{day:02}" for day in range(1, 9)],
        [f"2024-03-31T{hour:02}:00+02:00" for hour in range(8)],
        [f"{year}-01-01" for year in range(1000, 9000, 1000)],
        list("abcdefgh"),
        ["1", "2", "", "4", "5", "", "", "9" * 400],
        ["1e308", "", "-1e308", "1e308", "0", "0", "0", "0"],
        ["0", "1", "", "1", "0", "1", "0", "1"],
        ["True", "", "False", "True", "True", "", "True", "False"],
        [str(2**63 + n) for n in range(8)],
        ["5", "", "5", "5", "5", "5", "5", "5"],
        ["", "", "", "", "", "", "", ""],
        ["1", "x", "", "4", "5", "6", "7", "8"],
    ]
)


@patiently
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "t", "", "a.1", "x" * 999]), columns)))
def test_odd_columns_side_by_side(named):
    lines = [[name, *column] for name, column in named]
    read_as_csv("\n".join(map(",".join, zip(*lines, strict=True))).encode())


anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from([0, 1, -1, 2, 1e300, -0.0, 2**31, 10**30, "", "h", "0h", "\n", "a"]),
        st.text(max_size=4),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["nets", "data", "versions", "history", "step"]), inner),
    ),
    max_leaves=6,
)
RECORDS = ("nets", "seed", "data", "versions")
NET = ("recipe", "validation_nll", "best_step", "seconds", "history")


@patiently
@given(
    st.dictionaries(st.sampled_from(RECORDS), anything),
    st.none() | st.fixed_dictionaries(dict.fromkeys(NET, anything)),
)
def test_any_record_of_a_training_is_shown_or_gets_one_sentence(training, net):
    if net is not None:
        training |= {"nets": {"forward": net}}
    document = document_of(MODEL) | {"training": training}
    show_model(with_document(MODEL, document))


FIELDS_OF_SERIES = "columns width calendar freq time add_rows"
FIELDS_OF_COLUMN = "name place location scale levels lowest highest fills"


@patiently
@given(
    st.sampled_from(FIELDS_OF_SERIES.split()),
    st.sampled_from(FIELDS_OF_COLUMN.split()),
    anything,
    st.integers(-1, 4),
)
def test_a_series_that_lies_of_its_columns_is_refused_or_used(name, property_name, value, place):
    document = document_of(SERIES)
    fields = document["kind"]["fields"]
    if name == "columns" and 0 <= place < len(fields["columns"]):
        fields["columns"][place][property_name] = value
    else:
        fields[name] = value
    fill_series(with_document(SERIES, document))


values = st.recursive(
    st.one_of(
        st.sampled_from(["true", "nan", "inf", "-1", "0", "1", "10", "1e400", "9" * 400, "0.5"]),
        st.sampled_from(["'nade'", "'forward'", "'wiki96'", "'gsn'", "''", "1979-05-27", "'\\n'"]),
        st.text("abc[]{}=\"'\n", max_size=6),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda those: f"[{', '.join(those)}]"),
        inner.map(lambda one: f"{{ steps = {one} }}"),
    ),
    max_leaves=4,
)


def toml(names):
    lines = st.lists(st.tuples(st.sampled_from(names), values), max_size=6)
    return lines.map(lambda pairs: "".join(f"{name} = {value}\n" for name, value in pairs))


FIELDS = "net strategy cell hidden layers gap every targets learning_rate clip text alphabet steps"


@patiently
@given(toml(FIELDS.split()))
def test_any_recipe_is_read_or_gets_one_sentence(text):
    read_as_recipe(text.encode())


PARTS = "seed gap margin cut.wiki96 options.gsn options.nade table1 table3.limits figure3 training"


@patiently
@given(toml([*PARTS.split(), "table1.datasets", "pair"]), st.booleans())
def test_any_plan_is_read_or_gets_one_sentence(text, whole):
    start = "" if not whole else "seed = 1\ngap = 2\nmargin = 3\n"
    read_as_plan((start + text).encode())


OPTIONS = "--samples --seed --strategy --gap --gap-char --set --recipe --json --all --bounds --freq"
OPTIONS += (
    " --quantiles --model --unit --keep --voice --force --plan --dataset --time -o --nonsense"
)
typed = st.one_of(
    st.sampled_from(
        ["0", "-1", "1", "1:0", "9:8", "nan", "1e999", "", "-", "--", ".", "/", "a" * 5000]
    ),
    st.sampled_from(
        ["hidden=0", "hidden=", "=", "steps=1e9", "clip=" + "[" * 999, "/dev/full", "a\tb"]
    ),
    st.text(max_size=9),
)
COMMANDS = [
    # None of them has anything to work on: the model, the set or the plan is not there.
    "fill\ntext\nabc_\n--model\nnowhere.model",
    "fill\nmusic\nnowhere.mid\n-o\nout.mid",
    "fill\nseries\nnowhere.csv\n-o\nout.csv",
    "train\ntext\nnowhere.txt\n-o\nout.model",
    "evaluate\nnowhere.model\nnowhere.txt",
    "reproduce\n--plan\nnowhere.toml\n--out\nnowhere",
    "info\nnowhere.model",
    "data\nverify\nnowhere",
]


@patiently
@given(
    st.sampled_from(COMMANDS),
    st.lists(st.tuples(st.sampled_from(OPTIONS.split()), typed), max_size=4),
)
def test_any_words_get_an_answer_or_one_sentence(tmp_path_factory, command, options):
    os.chdir(tmp_path_factory.getbasetemp())
    type_words(
        "\n".join([command, *(word for pair in options for word in pair)]).encode(
            "utf-8", "replace"
        )
    )

"""The recipes follow the paper, and what is wrong with one is said in a sentence."""

import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.kinds import KINDS
from caesura.training.prepare import fitted
from caesura.training.recipe import choose, names, parse_setting

PAPER = ["paper-rnn", "paper-brnn", "paper-nade-masked", "paper-nade"]


def recipe(name: str, kind: str, **fields):
    return choose(name, kind, KINDS[kind].options, fields).recipe


def test_the_package_has_the_recipes_of_the_paper_and_their_modern_counterparts():
    frames = {"frames", "frames-rnn", "keys"}  # what goes together in a frame: not for letters
    series = {"series", "series-rnn"}  # for numbers alone, which have no others
    assert set(names()) == {*PAPER, "rnn", "brnn", "nade", *frames, *series}
    for name in names():
        kinds = {"series"} if name in series else {"music"} if name in frames else {"text", "music"}
        for kind in kinds:
            assert choose(name, kind, KINDS[kind].options, {}).recipe.hidden > 0


@pytest.mark.parametrize("name", PAPER)
def test_text_as_in_section_5_1(name):
    found = recipe(name, "text")
    forward = name == "paper-rnn"
    assert (found.cell, found.layers, found.hidden) == ("tanh", 1, 1000 if forward else 684)
    assert (found.length, found.burn_in) == (250 if forward else 300, 50)
    assert (found.batch, found.optimiser, found.decay) == (40, "sgd", "linear")
    assert found.learning_rate == (0.25,)
    assert (found.warm_up, found.weight_decay, found.dropout, found.patience) == (0, 0, 0, 0)
    assert choose(name, "text", KINDS["text"].options, {}).kind_fields == {"alphabet": "paper"}


@pytest.mark.parametrize("name", PAPER)
def test_music_as_in_section_5_2(name):
    found = recipe(name, "music")
    assert found.steps == 50_000
    assert (found.points, found.length) == (3_000, 300)
    assert found.learning_rate == (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
    assert found.burn_in == 0


def test_whole_scores_make_about_as_many_points_whatever_their_length():
    """The mean over batches, by the way in which pieces are drawn."""
    draw = np.random.default_rng(0)
    for shortest, longest in ((25, 129), (40, 1800), (500, 4000)):
        lengths = draw.integers(shortest, longest + 1, 200)
        found = fitted(recipe("paper-nade", "music"), lengths)
        assert found.length == min(300, lengths.max())
        assert found.batch % 2 == 0
        pieces = draw.choice(lengths, (2_000, found.batch), p=lengths / lengths.sum())
        points = np.minimum(pieces, found.length).sum(axis=1).mean()
        assert points == pytest.approx(3_000, rel=0.1)


def test_a_batch_that_is_given_is_used():
    lengths = np.array([10, 20])
    given = recipe("paper-nade", "music", batch=7, length=9)
    assert (given.points, fitted(given, lengths)) == (0, given)
    both = recipe("paper-nade", "music", batch=7, points=40)
    assert fitted(both, lengths).batch == 2
    assert fitted(recipe("nade", "music"), lengths) == recipe("nade", "music")


def test_what_the_paper_hides_and_where_its_errors_come_from():
    for kind in ("text", "music"):
        for name, missing_input, gap, targets in [
            ("paper-brnn", "none", 0, "all"),
            ("paper-nade-masked", "added", 5, "gaps"),
            ("paper-nade", "added", 5, "all"),
        ]:
            found = recipe(name, kind)
            assert (found.missing_input, found.gap, found.targets) == (missing_input, gap, targets)
            assert found.every == 25


def test_any_field_can_be_given_and_those_of_the_kind_too():
    chosen = choose("nade", "text", KINDS["text"].options, {"hidden": 7, "alphabet_size": 30})
    assert chosen.recipe.hidden == 7
    assert chosen.kind_fields == {"alphabet_size": 30}


def test_a_field_may_have_its_name_of_earlier_versions(tmp_path):
    assert recipe("nade", "music").shift == 5
    old = recipe("nade", "music", transpose=3)
    assert old.shift == 3
    assert old.identity()["transpose"] == 3
    assert "shift" not in old.identity()


def test_gaps_are_of_one_length_or_of_several():
    assert recipe("nade", "text", gap=3).gap_range == (3, 3)
    assert recipe("nade", "text", gap=[1, 12]).gap_range == (1, 12)


def test_short_gaps_follow_one_another_so_any_length_fits():
    short = recipe("nade", "text", gap=[1, 40], every=12, gap_lengths="short")
    assert short.identity()["gap_lengths"] == "short"
    assert "gap_lengths" not in recipe("nade", "text").identity()


def test_a_recipe_of_ones_own_is_a_file(tmp_path):
    import caesura.training.recipe as module

    text = (module._directory() / "nade.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace("hidden = 256", "hidden = 99"), encoding="utf-8")
    chosen = choose(str(path), "text", KINDS["text"].options, {})
    assert (chosen.name, chosen.recipe.hidden) == ("mine", 99)
    path.write_text("net = [", encoding="utf-8")
    with pytest.raises(CaesuraError, match="is not valid TOML"):
        choose(str(path), "text", (), {})
    path.write_text('net = "forward"', encoding="utf-8")
    with pytest.raises(CaesuraError, match="lacks the field 'strategy'"):
        choose(str(path), "text", (), {})


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"hiden": 3}, "no field of a recipe for text called 'hiden': did you mean 'hidden'"),
        ({"hidden": 0}, "'hidden' must be at least 1"),
        ({"hidden": 2.5}, "'hidden' must be a whole number, not 2.5"),
        ({"hidden": True, "steps": "many"}, "whole number"),
        ({"learning_rate": []}, "a number or a list of numbers"),
        ({"learning_rate": [0.1, -1]}, "above 0, not -1"),
        ({"learning_rate": float("nan")}, "above 0, not nan"),
        ({"dropout": 1.0}, "between 0 and 1"),
        ({"held_out": 0}, "between 0 and 1"),
        ({"decay": "cos"}, "did you mean 'cosine'"),
        ({"cell": 3}, "'cell' must be a word"),
        ({"gap_lengths": "shot"}, "did you mean 'short'"),
        ({"gap": 25}, "A gap of 25 steps does not fit into every 25"),
        ({"gap": [1, 25]}, "A gap of 25 steps does not fit into every 25"),
        ({"gap": [3, 2]}, "There are no gaps of 3 to 2 steps"),
        ({"gap": [0, 2]}, "There are no gaps of 0 to 2 steps"),
        ({"gap": [1, 2, 3]}, r"a number of steps, or a list \[least, most\]"),
        ({"targets": "gaps", "gap": 0}, "the recipe makes none"),
        ({"length": 20, "burn_in": 10}, "leaves nothing of 20 steps"),
    ],
)
def test_what_is_wrong_is_one_sentence(fields, sentence):
    with pytest.raises(CaesuraError, match=sentence) as raised:
        recipe("nade", "text", **fields)
    assert str(raised.value).count(". ") == 0


def test_an_unknown_recipe_suggests_a_known_one():
    with pytest.raises(CaesuraError, match="did you mean 'nade'"):
        recipe("nadee", "text")


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("hidden=256", ("hidden", 256)),
        ("cell=gru", ("cell", "gru")),
        ("learning_rate=[0.1, 0.3]", ("learning_rate", [0.1, 0.3])),
        (" dropout = 0.1", ("dropout", 0.1)),
        ("gap_char=#", ("gap_char", "#")),
    ],
)
def test_a_setting_is_a_name_and_a_value(text, setting):
    assert parse_setting(text) == setting


def test_a_setting_without_a_value_is_one_sentence():
    with pytest.raises(CaesuraError, match="has the form name=value"):
        parse_setting("hidden")

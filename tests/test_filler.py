"""The public face: fill, log_prob and marginals of a text, as a user meets them."""

import copy
import json
import subprocess
import sys

import jax
import numpy as np
import pytest

import caesura
from caesura.filler.filler import Filler
from caesura.kinds import Text
from caesura.nets.frames import Categorical
from caesura.nets.rnn import bidirectional, onegram, unidirectional
from caesura.strategies import GSN, NADE, Bayes, OneWay

ALPHABET = " abcde\n’"


@pytest.fixture(scope="module")
def filler() -> Filler:
    frame = Categorical(len(ALPHABET))
    shape = {"head": "softmax", "hidden": 5}
    return Filler(
        Text(ALPHABET),
        {
            "bidirectional": bidirectional(jax.random.key(0), frame, **shape),
            "forward": unidirectional(jax.random.key(1), frame, **shape),
            "onegram": onegram(frame, np.arange(8)[:, None]),
        },
        strategy="nade",
    )


def test_a_fill_keeps_the_text_and_answers_for_every_gap(filler):
    text = "ab__ c’\n_de"
    fill = filler.fill(text, samples=5, seed=3)
    assert len(fill.samples) == len(fill.log_probs) == 5
    for sample in fill.samples:
        assert all(s == t for s, t in zip(sample, text, strict=True) if t != "_")
        assert "_" not in sample
    assert fill.best == fill.candidates[0].sequence
    assert fill.log_prob >= fill.log_probs.max()
    assert fill.places.tolist() == [[2, 0], [3, 0], [8, 0]]
    assert fill.confidence.shape == (3,)
    assert np.all((fill.confidence > 0) & (fill.confidence < 1))


@pytest.mark.parametrize("strategy", ["nade", "oneway", "onegram"])
def test_characters_outside_the_alphabet_survive(filler, strategy):
    text = "x_b漢__\r’_ü"
    fill = filler.fill(text, samples=3, strategy=strategy)
    for sample in fill.samples:
        assert all(s == t for s, t in zip(sample, text, strict=True) if t != "_")
        assert all(s in ALPHABET for s, t in zip(sample, text, strict=True) if t == "_")
    assert np.isfinite(fill.log_probs).all()
    assert filler.fill("xü").best == "xü"
    assert filler.fill("axc", missing=[1]).best[1] in ALPHABET


def test_a_text_may_be_a_file(filler, tmp_path):
    file = tmp_path / "damaged"
    for text in ("ab__ c’\r\n_dé", "abc"):
        file.write_bytes(text.encode())
        assert filler.fill(file, samples=2).samples == filler.fill(text, samples=2).samples


def test_where_the_gap_character_is_a_symbol_it_can_be_scored(filler):
    """It marks a gap in a text to be filled, and nothing in one that is complete."""
    kind = Text("_" + ALPHABET[1:])
    same_numbers = Filler(kind, filler.nets, strategy="nade")
    asked = {"missing": slice(2, 4)}
    assert same_numbers.log_prob("a_b_c", **asked) == filler.log_prob("a b c", **asked)
    assert same_numbers.fill("a_b").places.tolist() == [[1, 0]]


def test_the_same_seed_gives_the_same_fill(filler):
    one, two, other = (filler.fill("a____b", samples=4, seed=s) for s in (1, 1, 2))
    assert one.samples == two.samples
    assert one.samples != other.samples


def test_what_is_shown_and_what_is_measured_agree(filler):
    """The log-probabilities of a fill are those that `log_prob` gives to its samples."""
    fill = filler.fill("ab__cd", samples=3)
    for sample, log_prob in zip(fill.samples, fill.log_probs, strict=True):
        assert filler.log_prob(sample, missing=slice(2, 4)) == pytest.approx(log_prob, abs=1e-5)
    marginals = filler.marginals("ab__cd")
    chosen = [marginals.symbols.index(character) for character in fill.best[2:4]]
    expected = np.exp(marginals.log_probs[np.arange(2), chosen])
    np.testing.assert_allclose(fill.confidence, expected, rtol=1e-5)


def test_log_prob_takes_steps_in_any_form(filler):
    mask = np.zeros(6, bool)
    mask[2:4] = True
    forms = [slice(2, 4), [2, 3], mask, mask[:, None]]
    assert len({float(filler.log_prob("abcdea", missing=form)) for form in forms}) == 1


def test_log_prob_says_when_it_is_an_estimate(filler):
    exact = filler.log_prob("abcdea", missing=[2])
    guess = filler.log_prob("abcdea", missing=[2, 3], strategy=GSN(steps=4, chains=3))
    assert exact.standard_error == 0
    assert guess.standard_error > 0
    assert "±" in repr(guess)
    assert "±" not in repr(exact)


def test_one_observed_character_of_a_full_text_can_be_asked_about_by_missing(filler):
    assert filler.fill("abcde", missing=[1]).places.tolist() == [[1, 0]]


def test_nothing_missing_is_no_mistake(filler):
    fill = filler.fill("abc", samples=2)
    assert fill.samples == ["abc", "abc"]
    assert fill.log_probs.tolist() == [0, 0]
    assert fill.confidence.shape == (0,)
    assert filler.log_prob("abc", missing=[]) == 0
    assert filler.marginals("abc").log_probs.shape == (0, len(ALPHABET))


def test_marginals_rank_symbols(filler):
    top = filler.marginals("ab_d").top(3)
    assert len(top) == 1
    chances = [chance for _, chance in top[0]]
    assert chances == sorted(chances, reverse=True)
    assert all(symbol in ALPHABET for symbol, _ in top[0])


def test_to_json_holds_everything(filler):
    fill = filler.fill("a_’", samples=2)
    told = json.loads(fill.to_json())
    assert told["best"] == fill.best
    assert told["samples"] == fill.samples
    assert told["log_probs"] == pytest.approx(fill.log_probs.tolist())
    assert told["confidence"] == pytest.approx(fill.confidence.tolist())


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda f: f.fill(""), "empty"),
        (lambda f: f.fill(3), "string, not int"),
        (lambda f: f.log_prob("abüc", missing=[0, 2]), "character 'ü' at position 2 is unknown"),
        (lambda f: f.fill("ab_", strategy="nad"), "did you mean 'nade'"),
        (
            lambda f: f.fill("ab_", strategy="zzzz"),
            "choose one of bayes, bothways, gsn, nade, onegram, oneway, search, sir",
        ),
        (lambda f: f.fill("ab_", samples=-1), "'samples' must be at least 0, not -1"),
        (lambda f: f.fill("ab_", draws=0), "'draws' must be at least 1, not 0"),
        (lambda f: f.fill("ab_", strategy=GSN(chains=0)), "'chains' must be at least 1, not 0"),
        (lambda f: f.fill("ab_", strategy=NADE(orders=0)), "'orders' must be at least 1"),
        (lambda f: f.fill("ab_", strategy=OneWay(samples=-1)), "'samples' must be at least 1"),
        (lambda f: f.fill("ab_", strategy=Bayes(lookahead=-1)), "'lookahead' must be at least 0"),
        (lambda f: f.fill("ab_", strategy=Bayes(steps=0)), "'steps' must be at least 1"),
        (lambda f: f.fill("abc", missing=[3]), "outside 0 to 2"),
        (lambda f: f.fill("abc", missing=slice(5, 9)), "none of the 3 steps"),
        (lambda f: f.fill("abc", missing=slice(0, 2.5)), "a slice, a list of steps, or a mask"),
        (lambda f: f.fill("ab_", seed=-1), "'seed' must be at least 0"),
        (lambda f: f.fill("ab_", seed=2**32), "'seed' must be at most 4294967295"),
        (lambda f: f.fill("ab_", strategy="NADE"), "did you mean 'nade'"),
        (lambda f: f.fill("ab_", strategy=""), "no strategy called ''"),
        (lambda f: f.fill("ab_", strategy=NADE(exact_up_to=40)), "'exact_up_to' .* at most 16"),
        (lambda f: f.fill("abc", missing=[-1]), "outside 0 to 2"),
        (lambda f: f.fill("abc", missing=np.zeros(4, bool)), r"shape \[4\].*3 steps"),
        (lambda f: f.log_prob("a_c", missing=[1]), "character '_' at position 1 is unknown"),
        (lambda f: caesura.train(["ab"], kind="txet"), "did you mean 'text'"),
        (lambda f: caesura.train(["ab"], kind="text", stesp=3), "did you mean 'steps'"),
        (lambda f: caesura.train(["ab"], kind="text", cell="gro"), "did you mean 'gru'"),
        (lambda f: caesura.train([], kind="text"), "nothing to learn from"),
        (lambda f: caesura.train("one long text", kind="text"), "must be a list, not one string"),
        (lambda f: caesura.train(["ab"], kind="text", steps=0), "'steps' must be at least 1"),
        (lambda f: caesura.train(["ab"], kind="text", batch=0), "'batch' must be at least 1"),
        (lambda f: caesura.train(["ab"], kind="text", layers=0), "'layers' must be at least 1"),
        (lambda f: caesura.train(["ab"], kind="text", steps=2.5), "whole number, not 2.5"),
        (
            lambda f: caesura.train(["ab"], kind="text", learning_rate=float("nan")),
            "'learning_rate' must be a number above 0",
        ),
        (lambda f: caesura.train([3], kind="text"), "string, not int"),
    ],
)
def test_a_mistake_gets_one_sentence(filler, ask, sentence):
    with pytest.raises(caesura.CaesuraError, match=sentence) as caught:
        ask(filler)
    text = str(caught.value)
    assert "\n" not in text
    assert text[0].isupper() or text[0] == "`"
    assert text[-1] in ".?"


def test_a_strategy_that_the_model_cannot_serve_is_refused(filler):
    forward_only = Filler(filler.kind, {"forward": filler.nets["forward"]}, strategy="oneway")
    with pytest.raises(caesura.CaesuraError, match="'nade' needs a bidirectional net"):
        forward_only.fill("a_b", strategy="nade")
    net = bidirectional(
        jax.random.key(0), Categorical(8), head="softmax", hidden=3, missing_input="none"
    )
    no_token = Filler(filler.kind, {"bidirectional": net}, strategy="gsn")
    with pytest.raises(caesura.CaesuraError, match="missing-value input"):
        no_token.fill("a_b", strategy=NADE())


@pytest.mark.slow
def test_wrong_types_get_a_sentence_too():
    """In a process of its own, since the type checker of this one would answer first."""
    program = """
import jax, numpy as np, caesura
from caesura.filler.filler import Filler
from caesura.kinds import Text
from caesura.nets.frames import Categorical
from caesura.nets.rnn import bidirectional
from caesura.strategies import GSN, Bayes, NADE, OneWay
net = bidirectional(jax.random.key(0), Categorical(3), head="softmax", hidden=2)
filler = Filler(Text("abc"), {"bidirectional": net}, strategy="nade")
wrong = [
    lambda: filler.fill("a_", samples=2.5),
    lambda: filler.fill("abc", missing=[[0], [1, 2]]),
    lambda: filler.fill("abc", missing=[0.5]),
    lambda: filler.fill("a_", seed="3"),
    lambda: filler.fill("a_", seed=None),
    lambda: filler.fill("a_", strategy=["nade"]),
    lambda: filler.fill("a_", strategy=NADE),
    lambda: filler.fill(None),
    lambda: GSN(steps=4.5),
    lambda: GSN(chains="3"),
    lambda: OneWay(samples=None),
    lambda: Bayes(lookahead=1.5),
    lambda: bidirectional(
        jax.random.key(0), Categorical(3), head="softmax", hidden=2, missing_input="adde"
    ),
]
for ask in wrong:
    try:
        ask()
    except caesura.CaesuraError as error:
        assert str(error)[-1] in ".?" and len(str(error).splitlines()) == 1, error
    else:
        raise AssertionError(ask.__code__.co_consts)
assert len(filler.fill("a_", samples=np.int64(2)).samples) == 2
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_log_prob_survives_copying(filler):
    guess = filler.log_prob("abcdea", missing=[2, 3], strategy=GSN(steps=4, chains=3))
    copied = copy.deepcopy(guess)
    assert (copied, copied.standard_error) == (guess, guess.standard_error)


def test_an_unknown_error_is_null_in_json(filler):
    fill = filler.fill("a__b", samples=1, strategy=GSN(steps=2, chains=1))
    assert np.isinf(fill.standard_errors).all()
    assert json.loads(fill.to_json())["standard_errors"] == [None]

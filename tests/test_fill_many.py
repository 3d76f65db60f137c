"""Many requests at once: each is answered as if it were alone, and one that fails, fails alone."""

from typing import ClassVar

import numpy as np
import pytest

from caesura.errors import CaesuraError
from caesura.filler import Fill, Request, answering
from caesura.strategies import NADE, STRATEGIES, OneGram
from small_fillers import music_filler, text_filler

TEXTS = ["the q___k fox", "a la__ dog", "no gap here", "___", "b__ of a much longer text here " * 3]
DISCRETE = [name for name, cls in STRATEGIES.items() if name != "bayes"]


def same(one: Fill, two: Fill) -> None:
    assert one.best == two.best
    assert one.samples == two.samples
    assert one.log_prob == pytest.approx(two.log_prob, abs=1e-3)
    np.testing.assert_allclose(one.log_probs, two.log_probs, atol=1e-3)
    np.testing.assert_allclose(one.confidence, two.confidence, atol=1e-4)


@pytest.mark.parametrize(
    "strategy",
    [n if n == "onegram" else pytest.param(n, marks=pytest.mark.slow) for n in DISCRETE],
)
def test_company_changes_nothing(strategy):
    filler = text_filler()
    asked = {"samples": 3, "draws": 6, "strategy": strategy}
    requests = [Request(text, seed=seed, **asked) for seed, text in enumerate(TEXTS)]
    together = filler.fill_many(requests)
    for request, fill in zip(requests, together, strict=True):
        same(fill, filler.fill(request.data, seed=request.seed, **asked))


@pytest.mark.slow
def test_songs_go_together_too():
    filler = music_filler()
    roll = (np.random.default_rng(0).random((30, 88)) < 0.05).astype(float)
    roll[4:7] = np.nan
    requests = [Request(roll, seed=seed, draws=3, strategy="nade") for seed in (0, 1)]
    for request, fill in zip(requests, filler.fill_many(requests), strict=True):
        alone = filler.fill(roll, seed=request.seed, draws=3, strategy="nade")
        np.testing.assert_array_equal(fill.best, alone.best)


@pytest.mark.slow
def test_like_requests_share_a_pass(monkeypatch):
    passes = []
    whole = answering.fill_pass

    def counted(method, tasks):
        passes.append(len(tasks))
        return whole(method, tasks)

    monkeypatch.setattr(answering, "fill_pass", counted)
    filler = text_filler()
    filler.fill_many(["the qu__k fox", "a lazy d__ is", "the q____ fox"])
    assert passes == [3]
    passes.clear()
    filler.fill_many(["the qu__k fox", "a lazy d_________ is"])  # too long for an exact score
    assert passes == [1, 1]


class Alone(OneGram):
    """A strategy that takes one key and one window at a time."""

    batched: ClassVar[bool] = False

    def draw(self, key, net, window, samples):
        assert key.ndim == 0
        assert len(window.valid) == 1
        return super().draw(key, net, window, samples)

    def log_prob(self, key, net, window, fills):
        assert key.ndim == 0
        return super().log_prob(key, net, window, fills)


def test_a_strategy_that_is_not_batched_gets_one_window_at_a_time():
    filler, strategy = text_filler(), Alone()
    requests = [Request("the qu__k fox", seed=seed, strategy=strategy) for seed in (1, 2)]
    for request, fill in zip(requests, filler.fill_many(requests), strict=True):
        same(fill, filler.fill(request.data, seed=request.seed, strategy=strategy))
    assert filler.group(requests[0]) != filler.group(requests[0])


def test_requests_of_equal_group_share_a_pass_and_others_do_not():
    filler = text_filler()
    group = filler.group(Request("the qu__k fox"))
    assert group == filler.group(Request("a lazy d__ is", seed=5))
    assert group != filler.group(Request("a lazy d__ is", draws=5))
    assert group != filler.group(Request("a lazy d__ is", strategy="onegram"))
    assert group != filler.group(Request("a lazy d__ is " * 9))


def test_the_cost_of_a_request_grows_with_what_is_asked():
    filler = text_filler()
    small = filler.states(Request("the qu__k fox", draws=1, strategy="nade"))
    assert filler.states(Request("nothing", draws=1)) == 0
    assert filler.states(Request("the qu__k fox", draws=10, strategy="nade")) == 10 * small
    long_gap = "the " + "_" * 30 + " fox"
    assert filler.states(Request(long_gap, draws=1, strategy="nade")) == 32 * NADE().orders


def test_a_bad_request_gets_its_own_error():
    filler = text_filler()
    good, bad, empty = filler.fill_many(["the qu__k", 3, ""], return_exceptions=True)
    assert isinstance(good, Fill)
    assert "not int" in str(bad)
    assert str(empty) == "The text is empty."
    with pytest.raises(CaesuraError, match="not int"):
        filler.fill_many(["the qu__k", 3])


def test_where_a_pass_fails_its_requests_are_tried_alone(monkeypatch):
    whole = answering.fill_pass

    def fails(method, tasks):
        if any(task.seed == 7 for task in tasks):
            raise RuntimeError("out of memory")
        return whole(method, tasks)

    monkeypatch.setattr(answering, "fill_pass", fails)
    filler = text_filler()
    requests = [Request("the qu__k fox", seed=seed) for seed in (1, 7, 2)]
    one, bad, two = filler.fill_many(requests, return_exceptions=True)
    assert isinstance(bad, RuntimeError)
    assert isinstance(one, Fill)
    assert isinstance(two, Fill)


@pytest.mark.slow
def test_progress_is_reported_and_can_end_the_work():
    filler, seen = text_filler(), []
    filler.fill_many(["the qu__k fox", "no gap", "_" * 20], report=lambda *p: seen.append(p))
    assert seen[-1] == (2, 2)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filler.fill_many(["the qu__k fox"], report=stop)

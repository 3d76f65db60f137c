"""The command that chooses step sizes: which it takes, and that a plan with them is the same."""

import math
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import step_sizes
from step_sizes import Tried

from caesura.reproduce.plan import read_plan
from caesura.reproduce.trainings import identity_of

GRID = (0.1, 0.3, 1.0)


@pytest.mark.parametrize(
    ("nlls", "shorter", "chosen"),
    [
        ((8.0, 7.5, 7.9), 0.5, [0.1, 0.3]),  # 0.15 is between them
        ((8.0, 7.5, 7.4), 0.2, [0.1, 0.3]),
        ((7.0, 7.5, 7.4), 0.2, [0.1, 0.3]),  # nothing is smaller
        ((8.0, 7.5, math.inf), 0.4, [0.1, 0.3]),  # the largest one diverged
    ],
)
def test_a_longer_training_gets_shorter_steps(nlls, shorter, chosen):
    tried = [Tried(rate, nll, 500) for rate, nll in zip(GRID, nlls, strict=True)]
    assert step_sizes.finalists(tried, 2, shorter) == chosen
    best = GRID[nlls.index(min(nlls))]
    assert step_sizes.finalists(tried, 1, 1.0) == [best]


def full_plan(rates):
    plan = read_plan().only(step_sizes.SETS, ["paper-brnn", "paper-nade-masked", "paper-rnn"])
    places = [(one.dataset, one.recipe) for one in plan.trainings]
    return step_sizes.in_full(plan, dict.fromkeys(places, rates))


def test_trials_have_the_whole_grid_and_few_updates():
    plan = full_plan([0.1, 0.3])
    for one in step_sizes.trials_of(plan, 3000).trainings:
        recipe = one.choose(one.fields).recipe
        assert (len(recipe.learning_rate), recipe.steps) == (9, 3000)


def test_a_plan_with_the_trainings_that_are_written_has_the_same_fingerprints(tmp_path):
    plan = full_plan([0.03, 1.0])
    text = f"seed = {plan.seed}\ngap = 5\nmargin = 10\n"
    for name in plan.items:
        limits = "limits = { wiki96 = 14 }\n" if name == "table3" else ""
        text += f'[{name}]\ndatasets = ["wiki96"]\n{limits}'
    (tmp_path / "plan.toml").write_text(text + step_sizes.as_toml(plan))
    again = read_plan(tmp_path / "plan.toml")
    assert again.trainings == plan.trainings
    ours, theirs = ([identity_of(t, 0) for t in p.trainings] for p in (plan, again))
    assert ours == theirs
    assert len(ours) == 12

"""The plan that comes with the package: every place of the paper's tables, by its protocol."""

import numpy as np

from caesura.reproduce import paper
from caesura.reproduce.measures import cut
from caesura.reproduce.plan import read_plan


def test_the_default_plan_fills_every_place_of_the_tables():
    plan = read_plan()
    served = {(s.dataset, s.recipe): s for s in plan.subjects}
    for item, table in paper.TABLES.items():
        assert set(plan.items[item].datasets) == set(paper.DATASETS)
        for row in table:
            for source, recipe in row.recipes.items():
                for name, number in zip(paper.DATASETS, row.values, strict=True):
                    # Text has no notes, and music is beyond enumeration.
                    if (source, name) == ("frames", "wiki96") or (
                        row.strategy != "sir" and number is None
                    ):
                        continue
                    subject = served[name, recipe]
                    assert item in subject.items
                    assert row.strategy in ("", *subject.serves)
    order = [t.recipe.startswith("paper-") for t in plan.trainings]
    assert order == sorted(order)


def test_the_default_plan_follows_the_protocol_of_the_paper():
    plan = read_plan()
    assert (plan.gap, plan.margin) == (5, 10)
    for name in ("gsn", "bayes"):
        assert (plan.strategies[name].steps, plan.strategies[name].chains) == (100, 100)
    for row in paper.TABLE1:
        for name in paper.DATASETS:
            wanted = paper.gaps(name, row.strategy)
            if row.strategy != "bayes" or name == "wiki96":
                assert plan.items["table1"].limit(name, row.strategy) == wanted


def test_the_default_plan_shortens_nothing_of_the_paper():
    plan = read_plan()
    of_paper = [t for t in plan.trainings if t.recipe.startswith("paper-")]
    assert len(of_paper) == 4 * len(paper.DATASETS)
    for training in of_paper:
        assert training.fields == {}
        steps = training.choose({}).recipe.steps
        assert steps == (100_000 if training.kind == "text" else 50_000)
    for item in ("figure2", "figure3"):
        for dataset in plan.items[item].datasets:
            for strategy in ("gsn", "nade"):
                assert plan.items[item].limit(dataset, strategy) == paper.gaps(dataset, strategy)


def test_sequences_are_cut_into_parts_that_hold_all_of_them():
    sequences = [np.arange(n)[:, None] for n in (5, 8, 1)]
    parts = cut(sequences, 4)
    assert [len(part) for part in parts] == [4, 1, 4, 4, 1]
    np.testing.assert_array_equal(np.concatenate(parts), np.concatenate(sequences))
    assert cut(sequences, None) is sequences

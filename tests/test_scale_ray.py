"""Many rows on Ray: the answers of one process, whoever gives them and whoever dies over them."""

import pandas as pd
import pytest

from caesura.errors import CaesuraError
from caesura.scale import Run, Summary, fill_dataset, fill_locally
from caesura.scale.on_ray import fill_on_ray
from command_line import PATH
from shared_rows import BATCH, Deadly, DeadlyOnce, read_notes, table
from small_fillers import text_filler

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'caesura[ray]'")
pytestmark = pytest.mark.slow  # processes are started, each of which compiles

HOW = {"draws": 3, "seed": 5, "batch": BATCH}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patched.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # as in the other tests
        patched.setenv("PYTHONPATH", PATH["PYTHONPATH"])
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=100 << 20,
            log_to_driver=False,
            logging_level="ERROR",
        )
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("scale") / "text.model"
    text_filler().save(path)
    return path


@pytest.fixture(scope="module")
def wanted(model, tmp_path_factory):
    """What one process answers."""
    out = tmp_path_factory.mktemp("local")
    fill_locally([table()], Run(model, draws=3, seed=5), out, batch=BATCH)
    return answers(out)


def dataset():
    return ray.data.from_arrow(table())


def answers(folder) -> pd.DataFrame:
    return pd.read_parquet(folder / "fills").set_index("id").sort_index()


def test_the_answers_are_those_of_one_process_and_are_not_given_twice(model, wanted, tmp_path):
    seen = []
    summary = fill_dataset(dataset(), model, output=tmp_path, **HOW, report=seen.append)
    assert summary == Summary(filled=12, failed=1)
    assert seen[-1] == summary
    assert len(seen) == 5
    pd.testing.assert_frame_equal(answers(tmp_path), wanted, check_exact=True)
    again = fill_dataset(dataset(), model, output=tmp_path, **HOW)
    assert again == Summary(failed=1, skipped=12)
    pd.testing.assert_frame_equal(answers(tmp_path), wanted, check_exact=True)


def test_rows_come_from_parquet_files_in_other_batches(model, wanted, tmp_path):
    table().to_pandas().to_parquet(tmp_path / "rows.parquet")
    rows = ray.data.read_parquet(str(tmp_path / "rows.parquet"))
    fill_dataset(rows, model, output=tmp_path / "out", **HOW | {"batch": 100}, workers=1)
    told = answers(tmp_path / "out")
    pd.testing.assert_frame_equal(told, wanted, check_exact=False, atol=1e-4)
    assert told.fill.equals(wanted.fill)


def test_a_worker_that_is_killed_costs_its_own_batch_alone(model, wanted, tmp_path):
    run = DeadlyOnce(model, draws=3, seed=5)
    summary = fill_on_ray(dataset(), run, tmp_path / "out", batch=BATCH, workers=2)
    assert summary == Summary(filled=12, failed=1)
    pd.testing.assert_frame_equal(answers(tmp_path / "out"), wanted, check_exact=True)
    notes = read_notes(model)
    assert [notes.count(f"row {n}") for n in range(12)] == [1] * 3 + [2, 2] + [1] * 7


def test_a_row_that_kills_every_worker_ends_the_run_in_one_sentence(model, tmp_path):
    with pytest.raises(CaesuraError, match="gave up on a batch") as told:
        fill_on_ray(dataset(), Deadly(model), tmp_path, batch=BATCH, workers=1)
    assert "\n" not in str(told.value)
    assert "row 0" in answers(tmp_path).index  # what was filled before stays


def test_mistakes_are_known_before_a_worker_starts(model, tmp_path):
    with pytest.raises(CaesuraError, match="at least 1"):
        fill_dataset(dataset(), model, output=tmp_path, draws=0)
    with pytest.raises(CaesuraError, match="'workers' must be at least 1, not 0"):
        fill_dataset(dataset(), model, output=tmp_path, workers=0)
    with pytest.raises(CaesuraError, match="rename them"):
        fill_dataset(ray.data.from_items([{"text": "a_"}]), model, output=tmp_path)

"""Many rows on Ray: the answers of one process, whoever gives them and whoever dies over them."""

import os
import signal

import pandas as pd
import pyarrow as pa
import pytest

from caesura.errors import CaesuraError
from caesura.scale import Run, Summary, fill_dataset, fill_locally, on_ray
from caesura.scale.worker import Worker
from command_line import PATH
from small_fillers import text_filler

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'caesura[ray]'")
pytestmark = pytest.mark.slow  # processes are started, each of which compiles

TEXTS = {f"row {n}": f"{'the ' * (n % 3)}qu__k fox {n}" for n in range(12)} | {"bad": ""}
HOW = {"draws": 3, "seed": 5, "batch": 3}


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
    fill_locally([table()], Run(model, draws=3, seed=5), out, batch=3)
    return answers(out)


def table() -> pa.Table:
    return pa.table({"id": list(TEXTS), "data": list(TEXTS.values())})


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


def test_a_worker_that_is_killed_costs_its_own_batch_alone(model, wanted, tmp_path, monkeypatch):
    begun = tmp_path / "begun"
    begun.touch()

    class Killed(Worker):
        def __call__(self, batch):
            names = batch["id"].to_pylist()
            first = "row 4" in names and "row 4" not in begun.read_text()
            with begun.open("a") as file:
                file.write(f"{','.join(names)}\n")
            if first:
                self._answers(batch.to_pylist()[:2])
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(batch)

    monkeypatch.setattr(on_ray, "Worker", Killed)
    summary = fill_dataset(dataset(), model, output=tmp_path / "out", **HOW, workers=2)
    assert summary == Summary(filled=12, failed=1)
    pd.testing.assert_frame_equal(answers(tmp_path / "out"), wanted, check_exact=True)
    batches = begun.read_text().splitlines()
    twice = [names for names in batches if "row 4" in names]
    assert len(twice) == 2
    assert len(batches) == 5 + 1


def test_a_row_that_kills_every_worker_ends_the_run_in_one_sentence(model, tmp_path, monkeypatch):
    class Dies(Worker):
        def __call__(self, batch):
            if "row 4" in batch["id"].to_pylist():
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(batch)

    monkeypatch.setattr(on_ray, "Worker", Dies)
    with pytest.raises(CaesuraError, match="gave up on a batch") as told:
        fill_dataset(dataset(), model, output=tmp_path, **HOW, workers=1)
    assert "\n" not in str(told.value)
    assert "row 0" in answers(tmp_path).index  # what was filled before stays


def test_mistakes_are_known_before_a_worker_starts(model, tmp_path):
    with pytest.raises(CaesuraError, match="at least 1"):
        fill_dataset(dataset(), model, output=tmp_path, draws=0)
    with pytest.raises(CaesuraError, match="rename them"):
        fill_dataset(ray.data.from_items([{"text": "a_"}]), model, output=tmp_path)

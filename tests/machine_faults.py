"""Machines that die: `sudo python tests/machine_faults.py train ray` measures what that costs.

train: three machines train one model. On the second one, the training is killed in the middle. On
each machine a loop of the shell starts the training again, as systemd or Kubernetes would.
ray: a cluster of a head and two workers fills rows. One of the two is killed with all that it runs.
If Ray gives up on a batch, the same call is made again and continues.
"""

import os
import random
import secrets
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy

from caesura.scale import Run, fill_locally
from command_line import PATH, TEXT
from machines import ADDRESSES, NAMES, Machines, machines, wait_until
from small_fillers import text_filler

FIELDS = "hidden=16 cell=tanh layers=1 batch=6 length=32 steps=600 validate_every=50"
VARIABLES = PATH | {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
AGAIN = 'until "$@"; do echo "AGAIN after $?"; sleep 1; done'  # the loop of each machine
ROWS, BATCH = 300, 6
FILL = """
import sys, logging, ray
from caesura.scale import fill_dataset
ray.init(address=sys.argv[1], logging_level=logging.ERROR, log_to_driver=False)
ray.data.DataContext.get_current().enable_progress_bars = False
rows = ray.data.read_parquet(sys.argv[2])
print(fill_dataset(rows, sys.argv[3], output=sys.argv[4], draws=4, strategy="nade", batch=6))
"""


def train(made: Machines, folder: Path) -> None:
    """Three trainings together: one undisturbed, one of which a process is killed."""
    (folder / "text.txt").write_text(TEXT)
    calm, disturbed = folder / "calm.model", folder / "disturbed.model"
    start = time.monotonic()
    together = [made.start(name, *training(folder, calm), **VARIABLES) for name in NAMES]
    for process in together:
        said, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"A training failed: {said[-2000:]}")
    print(f"three processes, undisturbed: {time.monotonic() - start:.0f} s")

    start = time.monotonic()
    loop = ("sh", "-c", AGAIN, "sh")
    together = [made.start(n, *loop, *training(folder, disturbed), **VARIABLES) for n in NAMES]
    wait_until(lambda: last_checkpoint(disturbed) >= 200, "a checkpoint after 200 updates")
    victim = child_of(together[1].pid)
    os.kill(victim, signal.SIGKILL)
    killed, updates = time.monotonic(), last_checkpoint(disturbed)
    print(f"killed one after {killed - start:.0f} s; the last checkpoint is of update {updates}")
    wait_until(lambda: last_checkpoint(disturbed) > updates or disturbed.exists(), "going on")
    print(f"all three continue after {time.monotonic() - killed:.0f} s")
    again = [process.communicate()[0].count("AGAIN after") for process in together]
    print(f"finished after {time.monotonic() - start:.0f} s; started again: {again} times")
    one, two = map(safetensors.numpy.load_file, (calm, disturbed))
    far = max(float(np.abs(one[name] - two[name]).max()) for name in one)
    same = all(one[name].tobytes() == two[name].tobytes() for name in one)
    print(f"the weights of both: {'equal to the bit' if same else f'up to {far:.1e} apart'}")


def training(folder: Path, model: Path) -> list[object]:
    words = [sys.executable, "-m", "caesura", "train", "text", folder / "text.txt", "-o", model]
    fields = [word for field in FIELDS.split() for word in ("--set", field)]
    return [*words, "--resume", "--hosts", ",".join(NAMES), *fields]


def last_checkpoint(model: Path) -> int:
    found = model.parent.glob(f"{model.name}.checkpoints/*/*.checkpoint")
    return max((int(path.stem) for path in found), default=-1)


def child_of(process: int) -> int:
    (child,) = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return int(child)


def ray(made: Machines, folder: Path) -> None:
    """A head and two workers fill rows; one of the workers is killed."""
    draw = random.Random(0)
    texts = ["".join(draw.choices("abcde ", k=60)) + "_" * 4 + "abcdef" for _ in range(ROWS)]
    table = pa.table({"id": [f"row {n}" for n in range(ROWS)], "data": texts})
    pq.write_table(table, folder / "rows.parquet", row_group_size=60)
    model = folder / "a.model"
    text_filler().save(model)
    start = time.monotonic()
    fill_locally([table], Run(str(model), 4, "nade"), folder / "alone", batch=BATCH)
    print(f"one process alone: {time.monotonic() - start:.0f} s")
    for out, kill in (("calm", False), ("disturbed", True)):
        fill_on_cluster(made, folder, out, kill)
        compare(folder / "alone", folder / out)


def fill_on_cluster(made: Machines, folder: Path, out: str, kill: bool) -> None:
    """Start a cluster, fill the rows, and end the cluster."""
    head = f"{ADDRESSES[NAMES[0]]}:6379"
    ray_start = [Path(sys.executable).parent / "ray", "start", "--block", "--disable-usage-stats"]
    ray_start += ["--object-store-memory=100000000"]
    # Newer versions of Ray ask for a token: this cluster has one of its own.
    variables = VARIABLES | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        node = f"--node-ip-address={ADDRESSES[NAMES[0]]}"
        here = ["--head", "--port=6379", "--num-cpus=1", "--include-dashboard=false", node]
        started = [made.start(NAMES[0], *ray_start, *here, **variables)]
        for name in NAMES[1:]:
            words = [f"--address={head}", "--num-cpus=1", f"--node-ip-address={ADDRESSES[name]}"]
            loop = ("sh", "-c", AGAIN, "sh")  # until the head answers
            started.append(made.start(name, *loop, *ray_start, *words, **variables))
        status = [Path(sys.executable).parent / "ray", "status", f"--address={head}"]

        def has_three_nodes() -> bool:
            said, _ = made.start(NAMES[0], *status, **variables).communicate()
            return said.count(" node_") >= len(NAMES)

        print(f"{out}: the cluster is there after {wait_until(has_three_nodes, 'a cluster'):.0f} s")
        words = (head, folder / "rows.parquet", folder / "a.model", folder / out)
        start = time.monotonic()
        loop = ("sh", "-c", AGAIN, "sh")
        driver = made.start(NAMES[0], *loop, sys.executable, "-c", FILL, *words, **variables)
        fills = folder / out / "fills"
        if kill:
            wait_until(lambda: len(list(fills.glob("part-*"))) >= 20, "twenty batches")
            died = made.pull_the_plug(NAMES[2])
            files = len(list(fills.glob("part-*")))
            print(f"{out}: {died} processes of one worker killed after {files} batches")
        said, _ = driver.communicate()
        (summary,) = [line for line in said.splitlines() if line.startswith("Summary")]
        for line in said.splitlines():
            if line.startswith("caesura.errors"):
                print(f"{out}: {line}")
        print(f"{out}: {summary}, {time.monotonic() - start:.0f} s")
        print(f"{out}: the call was made again {said.count('AGAIN after')} times")
    finally:
        for name in NAMES:
            made.pull_the_plug(name)


def compare(alone: Path, out: Path) -> None:
    """Compare the fills with those of one process."""
    one, two = (pq.read_table(folder / "fills").sort_by("id") for folder in (alone, out))
    assert one["id"].to_pylist() == two["id"].to_pylist(), "rows are lost or there twice"
    same = sum(
        a == b for a, b in zip(one["fill"].to_pylist(), two["fill"].to_pylist(), strict=True)
    )
    far = np.abs(one["log_prob"].to_numpy() - two["log_prob"].to_numpy()).max()
    print(f"{out.name}: {same} of {len(one)} fills as by one process; nats differ by {far:.1e}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, machines() as made:
        for name in sys.argv[1:] or ["train", "ray"]:
            place = Path(folder) / name
            place.mkdir()
            {"train": train, "ray": ray}[name](made, place)


if __name__ == "__main__":
    main()

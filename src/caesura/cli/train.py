"""`caesura train`: data to a model file, in a run that can be stopped and resumed."""

import shlex
import shutil
import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer

from caesura.cli.hosts import join
from caesura.cli.interruption import Interruption
from caesura.cli.options import DataDirectory, Json, Seed, documented
from caesura.cli.output import answer_json, check_output, no_answers_yet, note
from caesura.cli.parsing import Source, load_sources, parse_settings, parse_source
from caesura.errors import lookup
from caesura.training.progress import showing


@documented
def train(
    kind: str,
    data: list[str],
    output: Path,
    recipe: str | None = None,
    start: str | None = None,
    valid: list[str] | None = None,
    settings: list[str] | None = None,
    pool: str | None = None,
    seed: Seed = 0,
    resume: bool = False,
    hosts: str | None = None,
    folder: DataDirectory = None,
    json: Json = False,
) -> None:
    """Train a model on data and write it to a file.

    While it runs, checkpoints are kept in MODEL.checkpoints; they are removed when the model is
    written. Ctrl-C or `kill` stops the training after a checkpoint is saved, with exit code 130 or
    143, and prints how to resume; the resumed run ends with the same weights as one that was not
    interrupted. A second Ctrl-C ends it at once.

    DATA may be a directory made by `caesura data pack`: such texts are read from disk as needed.
    Machines that train together must see the same DATA and the same directory of MODEL.

    Parameters
    ----------
    kind : KIND
        The kind of data: text, music or series.
    data : DATA
        Files, directories, or public sets by name (`caesura data list`): the split 'train', or
        another as name:split. An existing path wins over a set.
    output : --output, -o MODEL
        The model file to write.
    recipe : --recipe NAME[,NAME]
        The name of a recipe, or a TOML file; two, separated by a comma, train a bidirectional and a
        forward net for one model. Default: nade, and series for series.
    start : --start MODEL
        A model to train further, instead of random weights; its alphabet and sizes are kept.
    valid : --valid DATA
        The data to validate on; may be given several times. Default: the split 'valid' if DATA is
        public sets only, or a part of DATA that is held out.
    settings : --set, -s NAME=VALUE
        A field of the recipe or of the kind, such as hidden=256, covariates=load for series, or
        notation=leiden and normalise='case marks' for text; may be given several times.
    pool : --pool TIME
        For series: fit a Gaussian model to the tables for so long, such as 30s or 2min, and pool it
        with the net, if that is better.
    resume : --resume
        Continue from the checkpoint of an earlier run.
    hosts : --hosts HOST,...
        Train on several machines together: run the same command on each of them, with all their
        names. The first one, as name or name:port, writes the model. 'auto' asks the launcher:
        SLURM, Open MPI or Kubernetes. Default: $CAESURA_COORDINATOR, $CAESURA_PROCESSES and
        $CAESURA_PROCESS, or this process alone.
    """
    from caesura.kinds import KINDS

    lookup(KINDS, kind, "kind")
    sources = [parse_source(name, kind, "train") for name in data]
    held_out = [parse_source(name, kind, "valid") for name in valid or []]
    if not held_out and all(source.split == "train" for source in sources):
        held_out = [Source(source.name, "valid") for source in sources]
    check_output(output, (*data, *(valid or [])))
    overrides = parse_settings(settings or [])
    if pool is not None:
        from caesura.kinds.series.times import seconds_of

        overrides |= {"pool": seconds_of(pool)}
    checkpoints = Path(f"{output}.checkpoints")
    if resume and not any(checkpoints.glob("*/*.checkpoint")):
        note(f"There is no checkpoint in '{checkpoints}': the training starts from the beginning.")

    from caesura.hardware import keep_memory, use_all_cores

    keep_memory()
    use_all_cores()
    join(hosts)
    from caesura.filler import load
    from caesura.training.loop import Stopped
    from caesura.training.processes import is_first
    from caesura.training.train import train as learn

    with Interruption() as interruption:
        try:
            shown: Any = showing() if is_first() else nullcontext(lambda net, progress: None)
            with shown as report, no_answers_yet():
                filler = learn(
                    load_sources(sources, folder),
                    kind=kind,
                    recipe=recipe,
                    seed=seed,
                    valid=load_sources(held_out, folder) if held_out else None,
                    start=load(start) if start else None,
                    checkpoints=checkpoints,
                    resume=resume,
                    report=report,
                    warn=note,
                    stop=interruption.asked,
                    **overrides,
                )
        except Stopped:
            note(f"Stopped; to continue: {_again(sys.argv[1:])}")
            # Without a signal here, another process was stopped.
            raise typer.Exit(128 + (interruption.signal or signal.SIGTERM)) from None
        if not is_first():
            return
        filler.save(output)
        shutil.rmtree(checkpoints, ignore_errors=True)
    summary = _summary(output, kind, filler.training)
    if json:
        answer_json(summary)
    else:
        _show(summary)


def _again(typed: list[str]) -> str:
    """Return the command that continues, from what was typed."""
    if "--resume" in typed:
        return shlex.join(["caesura", *typed])
    place = typed.index("train") + 1
    return shlex.join(["caesura", *typed[:place], "--resume", *typed[place:]])


def _summary(output: Path, kind: str, training: dict[str, Any]) -> dict[str, Any]:
    told = ("recipe", "validation_nll", "best_step", "learning_rate", "skipped_updates", "seconds")
    nets = {name: {k: net[k] for k in told} for name, net in training["nets"].items()}
    file = {"file": str(output), "bytes": output.stat().st_size}
    found = {"kind": kind, "seed": training["seed"], "data": training["data"], "nets": nets}
    return file | found | {key: training[key] for key in ("pool",) if key in training}


def _show(summary: dict[str, Any]) -> None:
    from rich.filesize import decimal

    for name, net in summary["nets"].items():
        skipped = f", {net['skipped_updates']} updates skipped" if net["skipped_updates"] else ""
        print(
            f"{name} ({net['recipe']}): {net['validation_nll']:.4f} nats a step on validation, "
            f"best at update {net['best_step']}, {net['seconds']:.0f} s{skipped}"
        )
    if "pool" in summary:
        print(
            f"A share of {summary['pool']['share']:.0%} of the fills comes from the Gaussian model."
        )
    print(f"{summary['file']}: {decimal(summary['bytes'])}")

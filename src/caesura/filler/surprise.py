"""A warning if what is observed is itself improbable, such as a text in an unknown language."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from caesura.errors import CaesuraWarning
from caesura.nets.eager import step_log_probs
from caesura.nets.frames import Categorical
from caesura.nets.rnn import Net
from caesura.sequence import Sequence

LEAST = 30  # observed steps, below which nothing can be said
MOST = 128  # steps that are looked at
# Times the NLL of the validation data. On English Wikipedia, fewer than 1 of 100 passages of 40
# characters are above it; German, French, Latin, C and text messages are (docs/experiments.md).
STRANGE = 3.0


def warn_if_strange(net: Net, training: Mapping[str, Any], sequence: Sequence) -> None:
    """Warn if the observed steps around the first gap are improbable under the net.

    Parameters
    ----------
    net
        The bidirectional net, which predicts each step from all the others, run by NumPy.
    training
        The training record of the model, which has the NLL of its validation data.
    sequence
        What is to be filled.
    """
    usual = training.get("nets", {}).get("bidirectional", {}).get("validation_nll")
    if not sequence.gaps or not usual or not isinstance(net.frame, Categorical):
        return
    first = max(0, sequence.gaps[0].start - MOST // 2)
    near = slice(first, first + MOST)
    symbols = np.where(sequence.missing, net.frame.unknown_value, sequence.values)[near, 0]
    if np.sum(~net.frame.unknown(symbols)) < LEAST:
        return
    nll = -float(np.mean(step_log_probs(net, symbols.astype(int))))
    if nll > STRANGE * usual:
        warnings.warn(
            f"What is observed is improbable under the model: {nll:.1f} nats per step, where its "
            f"validation data has {usual:.1f}. It may be in another language or style than the "
            "training data; do not rely on the fill.",
            CaesuraWarning,
            stacklevel=3,
        )

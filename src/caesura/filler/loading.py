"""Models from files, and models joined."""

import os
from dataclasses import replace

from caesura.filler.filler import Filler
from caesura.hardware import keep_compiled
from caesura.later import after_import
from caesura.modelfile import read_model
from caesura.nets.eager import with_jax
from caesura.nets.heads.weighing import Weighing
from caesura.pretrained import check_weights, default_strategy, find_model


def load(model: str | os.PathLike[str]) -> Filler:
    """Load a model.

    Compiled programs are kept in the cache directory of the user, so that the next process starts
    faster, unless JAX's own cache is configured or CAESURA_CACHE is set to another directory.

    Parameters
    ----------
    model
        The name of a model that comes with the library, "text", "text-large", "music", "papyri" or
        "series"; the path of a model file; or an address on the Hugging Face Hub,
        `hf://user/repo/file.safetensors@revision`, which may end in `#sha256=` and the hash of the
        file. The Hub needs `pip install 'caesura[hf]'`.

    Returns
    -------
    Filler
        The model, ready to fill.

    Raises
    ------
    CaesuraError
        If the file is damaged or not a model file; if there is no such file, the error is also a
        `FileNotFoundError`.

    Examples
    --------
    >>> import caesura
    >>> caesura.load("text").kind.name
    'text'
    """
    after_import(keep_compiled)
    path = find_model(model)
    check_weights(model)
    found = read_model(path)
    filler = Filler(**vars(found))
    if any(isinstance(net.head, Weighing) for net in found.nets.values()):
        from caesura.filler.tables import TableFiller  # which imports JAX

        nets = {name: with_jax(net) for name, net in found.nets.items()}
        filler = TableFiller(**vars(found) | {"nets": nets})
    return replace(filler, strategy=default_strategy(model) or filler.strategy)


def join(first: Filler, *others: Filler) -> Filler:
    """Return the first filler with the nets of the others and the records of all trainings."""
    fillers = (first, *others)
    nets = {name: net for one in fillers for name, net in one.nets.items()}
    records = {name: record for one in fillers for name, record in one.training["nets"].items()}
    return replace(first, nets=nets, training=first.training | {"nets": records})

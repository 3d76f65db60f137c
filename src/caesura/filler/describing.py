"""What a terminal and a notebook show of a filler."""

from caesura.modelfile import Model
from caesura.nets.rnn import Net
from caesura.plots.html import page, table_html


def described(model: Model[Net]) -> str:
    """Return one line: the kind, the nets and their sizes, and the strategy."""
    nets = ", ".join(_named(name, net) for name, net in model.nets.items())
    return f"<Filler for {model.kind.name}: {nets}; by '{model.strategy}'>"


def as_html(model: Model[Net]) -> str:
    """Return a small table: the kind, the nets, and how they were trained."""
    data = model.training.get("data", {})
    rows = {"kind": model.kind.name, "strategy": model.strategy}
    rows |= {f"{name} net": _size(net) for name, net in model.nets.items()}
    if data:
        rows["trained on"] = f"{data['pieces']:,} pieces, {data['steps']:,} steps"
    return page("Filler", table_html(rows))


def _size(net: Net) -> str:
    if not (cells := net.forward.cells):
        return "the frequencies in the training data"
    layers = "1 layer" if len(cells) == 1 else f"{len(cells)} layers"
    return f"{layers} of {cells[0].size} {type(cells[0]).__name__.lower()} units"


def _named(name: str, net: Net) -> str:
    if not (cells := net.forward.cells):
        return name
    return f"{name} ({len(cells)} x {cells[0].size} {type(cells[0]).__name__.lower()})"

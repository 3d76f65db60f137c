"""Which caesura this is; model files name the one that wrote them."""

__version__ = "0.1.0"

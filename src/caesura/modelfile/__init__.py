"""Model files: safetensors, with the configuration as JSON in the header."""

from caesura.modelfile.card import write_card
from caesura.modelfile.files import read_info, read_model, write_model
from caesura.modelfile.model import Model

__all__ = ["Model", "read_info", "read_model", "write_card", "write_model"]

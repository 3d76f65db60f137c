"""Model files: safetensors, with the configuration as JSON in the header."""

from caesura.modelfile.model import Model, read_info, read_model, write_model

__all__ = ["Model", "read_info", "read_model", "write_model"]

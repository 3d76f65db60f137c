"""Filling very many sequences: rows in, Parquet out, by one process or by the workers of Ray."""

from caesura.scale.filling import Filling, Summary
from caesura.scale.local import fill_locally
from caesura.scale.on_ray import fill_dataset

__all__ = ["Filling", "Summary", "fill_dataset", "fill_locally"]

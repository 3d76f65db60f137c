"""Filling very many sequences: rows in, Parquet out, on this machine or by the workers of Ray."""

from caesura.errors import extra

with extra("series", "Filling many files needs pyarrow"):
    import pyarrow  # noqa: F401

from caesura.scale.local import fill_locally
from caesura.scale.on_ray import fill_dataset
from caesura.scale.run import Run, Summary

__all__ = ["Run", "Summary", "fill_dataset", "fill_locally"]

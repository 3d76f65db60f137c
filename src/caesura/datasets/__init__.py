"""Public sets to train and to measure on: fetched, verified, loaded."""

from caesura.datasets.folder import Row, data_folder, fetch, listing, load, verify
from caesura.datasets.registry import DATASETS, Dataset

__all__ = ["DATASETS", "Dataset", "Row", "data_folder", "fetch", "listing", "load", "verify"]

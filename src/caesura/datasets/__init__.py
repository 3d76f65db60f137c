"""Public data sets to train and to evaluate on: fetch, verify and load them."""

from caesura.datasets.folder import Row, data_folder, fetch, listing, load, verify
from caesura.datasets.registry import DATASETS, Dataset

__all__ = ["DATASETS", "Dataset", "Row", "data_folder", "fetch", "listing", "load", "verify"]

"""Parallels: the passages of a corpus that are nearest to a reading in its context."""

from caesura.parallels.index import Parallel, Parallels
from caesura.parallels.reading import read_question

__all__ = ["Parallel", "Parallels", "read_question"]

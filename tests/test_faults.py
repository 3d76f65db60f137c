"""After a fault nothing is lost or half-written; `make faults` tries each many times."""

import pytest

from faults import FAULTS, UnavailableError, survives


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_lost(name):
    try:
        assert survives(FAULTS[name], trial=0)
    except UnavailableError as reason:
        pytest.skip(str(reason))

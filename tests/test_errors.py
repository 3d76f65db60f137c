"""What is suggested for a name that is not known."""

import pytest

from caesura.errors import CaesuraError, lookup

KNOWN = dict.fromkeys(["nade", "onegram", "jsb_chorales"])


@pytest.mark.parametrize("typed", ["nad", "NADE", "naed", "na\nde"])
def test_a_near_name_is_suggested(typed):
    with pytest.raises(CaesuraError, match="did you mean 'nade'"):
        lookup(KNOWN, typed, "strategy")


def test_the_beginning_of_a_name_is_enough():
    with pytest.raises(CaesuraError, match="did you mean 'jsb_chorales'"):
        lookup(KNOWN, "jsb", "data set")


@pytest.mark.parametrize("typed", ["beam", "", 7, None])
def test_otherwise_all_names_are_listed(typed):
    with pytest.raises(CaesuraError, match="choose one of jsb_chorales, nade, onegram"):
        lookup(KNOWN, typed, "strategy")

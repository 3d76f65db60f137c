"""The paper's networks, as Equinox modules: frames, cells, heads and the nets made of them."""

"""The paper's networks, as modules: frames, cells, heads and the nets made of them."""

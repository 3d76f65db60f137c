"""How well a model knows what it cannot see, and whether what it states comes true."""

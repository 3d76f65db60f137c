"""What all tests share."""

import jax

# Nets this small spend their time in the compiler, not in what it compiles.
jax.config.update("jax_disable_most_optimizations", True)

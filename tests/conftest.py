"""What all tests share."""

import os

import jax
import pytest

# Nets this small spend their time in the compiler, not in what it compiles.
jax.config.update("jax_disable_most_optimizations", True)
# The older way to make code of fused operations compiles in two thirds of the time. Versions that
# do not know a flag end the process.
if jax.__version_info__[:2] == (0, 10):
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
# Nor shall the commands that they call keep programs in the user's own cache.
jax.config.update("jax_enable_compilation_cache", False)

# What these assert is explained when it fails, as it is in the tests themselves.
pytest.register_assert_rewrite("command_line", "model_files", "sentences")


@pytest.fixture(scope="module", autouse=True)
def _forget_programs():
    """Linux lets a process map 65 530 pieces of memory, and every compiled program is some of them:
    more than a thousand tests in one process end in a crash unless each file cleans up."""
    yield
    jax.clear_caches()


def pytest_terminal_summary(terminalreporter):
    """Print what tests measured; a test that runs in another process cannot print it itself."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    measured = [v for r in reports for k, v in r.user_properties if k == "measured"]
    if measured:
        terminalreporter.section("measured")
        terminalreporter.write_line("\n".join(measured))

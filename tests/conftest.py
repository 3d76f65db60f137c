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


@pytest.fixture(scope="session", autouse=True)
def _give_memory_back():
    """A command that keeps its memory would do so for all tests of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("caesura.hardware.keep_memory", lambda: None)
        yield


@pytest.fixture(scope="module")
def few_rounds():
    """A Gaussian model of a table is fitted in three rounds: on any machine the same."""
    from caesura.training import tuning

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "ROUNDS", 3)
        yield


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium."""
    from playwright.sync_api import sync_playwright

    from on_page import CHROMIUM

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM,
            # A machine for tests may have no rights for a sandbox, and nothing to listen with.
            args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
        )
        yield browser
        browser.close()


@pytest.fixture(params=["phone", "desk"])
def page(request, browser, address):
    """A page that must not complain, nor ask anything of another host; a file has the `address`."""
    from on_page import LONG, WIDTHS

    width, height, scheme = WIDTHS[request.param]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, base_url=address
    )
    page = context.new_page()
    page.set_default_timeout(LONG)
    page.shape = request.param
    complaints = []
    page.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda asked: complaints.append(f"{asked.failure}: {asked.url}"))
    elsewhere = []
    page.on("request", lambda asked: elsewhere.append(asked.url))
    yield page
    context.close()
    # By the button that stops a fill, or by a question that takes the place of another one.
    given_up = [f"net::ERR_ABORTED: {address}/api/{route}" for route in ("fill", "fill/series")]
    assert not [said for said in complaints if said not in given_up]
    strange = [url for url in elsewhere if not url.startswith((address, f"blob:{address}"))]
    assert not strange


def pytest_terminal_summary(terminalreporter):
    """Print what tests measured; a test that runs in another process cannot print it itself."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    measured = [v for r in reports for k, v in r.user_properties if k == "measured"]
    if measured:
        terminalreporter.section("measured")
        terminalreporter.write_line("\n".join(measured))

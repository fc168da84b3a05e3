"""What all tests share: a cache folder of their own, and random searches that can be repeated."""

from __future__ import annotations

import os
import random
import time

# Mutants are planted in interpreted modules, so the tests run those. It is said before anything is imported.
os.environ.setdefault("WARPBANK_COMPILED", "0")

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests import thinned
from tests.browser import browser
from tests.hardware import form
from tests.hardware.gpu import Gpu, NoGpu
from tests.not_compared import reasons

__all__ = ["browser"]

# By default hypothesis draws the same examples in every run; `--hypothesis-profile=explore` draws new ones
# and prints how to repeat a failure.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=500)
# The profile under which tests judge mutants (tests.mutate) draws all examples, equal ones in every run.
settings.register_profile("thorough", derandomize=True, deadline=None, print_blob=True)
# What a slice of the long suite draws (tests.slices): as many examples, other ones for each seed.
settings.register_profile("fresh", deadline=None, print_blob=True)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as `long` what `quick` does not name, before `-m` chooses."""
    unmatched = thinned.mark_long(items)
    if unmatched and not any("::" in argument for argument in config.args):
        raise pytest.UsageError("\n".join(unmatched))


#: When this process began to test, in seconds of `time.monotonic`.
_BEGIN = time.monotonic()
#: Why a test did not run that would have begun after `--stop-after`.
NO_TIME = "no time was left for it"
#: Seconds that a test may be allowed (`pytest.mark.timeout`) and still begin under `--stop-after`.
LONGEST = 1800


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--stop-after SECONDS`: tests that have not begun by then are skipped, and those that are allowed more
    than half an hour. `--gpu`: the program tests run their PTX on this machine's GPU as well."""
    parser.addoption("--stop-after", type=float, metavar="SECONDS", help="begin no test after these seconds")
    parser.addoption("--gpu", action="store_true", help="run the program tests' PTX on the GPU as well")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what begins too late, or may take too long."""
    limit = item.config.getoption("--stop-after")
    if limit is None:
        return
    allowed = item.get_closest_marker("timeout")
    if time.monotonic() - _BEGIN > limit or (allowed is not None and allowed.args[0] > LONGEST):
        pytest.skip(NO_TIME)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the baselines that were not compared."""
    found = reasons(terminalreporter.stats.get("skipped", []))
    if found:
        terminalreporter.section("baselines that were not compared")
        for reason, count in found.items():
            terminalreporter.line(f"{count} of them: {reason}" if count > 1 else reason)


@pytest.fixture
def drawn(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers of the test's name and the slice's seed: each pass of the long suite draws other ones.

    Hypothesis would begin with its simplest example, whatever the seed. A failure shows the command that
    draws its numbers again.
    """
    seed = request.config.getoption("--hypothesis-seed") or 0
    name = request.node.nodeid
    again = f'python -m pytest -m "long or not long" --hypothesis-seed={seed} "{name}"'
    request.node.add_report_section("call", "drawn again by", again)
    return random.Random(f"{seed} {name}")


@pytest.fixture(scope="session", autouse=True)
def _gpu(pytestconfig: pytest.Config) -> Iterator[None]:
    """The GPU of `--gpu`, open as long as the tests run."""
    if not pytestconfig.getoption("--gpu"):
        yield
        return
    try:
        with Gpu() as gpu:
            form.attach(gpu)
            yield
            form.detach()
    except NoGpu as error:
        pytest.exit(f"--gpu: {error}", returncode=2)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing a user has cached helps or harms the tests, and they leave nothing there."""
    if "WARPBANK_TEST_CACHE" in os.environ:  # a folder kept between runs, for impatient developers
        folder = os.environ["WARPBANK_TEST_CACHE"]
    else:
        base = tmp_path_factory.getbasetemp()
        folder = str(
            (base.parent if base.name.startswith("popen-") else base) / "cache"
        )  # xdist's workers share one
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPBANK_CACHE", folder)
        yield

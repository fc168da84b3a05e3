"""Browser of the tests: headless Chromium, by Playwright, and pages as a reader opens them, offline.

The browser is Chromium's headless shell, Chromium or Chrome on the PATH; `.ci/run` installs Debian's.
WARPBANK_CHROMIUM names another, and then it has to be there. Without Playwright or a browser these tests are
skipped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
#: A telephone, as Playwright makes one.
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
#: How wide a page is, and how wide the window.
WIDTH = "[document.documentElement.scrollWidth, innerWidth]"


@dataclass
class Visit:
    """A page in the browser, what it wrote on the console and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One for all tests."""
    api = pytest.importorskip("playwright.sync_api", reason="needs the playwright wheel")
    found = os.environ.get("WARPBANK_CHROMIUM") or next(
        (path for name in NAMES if (path := shutil.which(name))), ""
    )
    if not found:
        pytest.skip("needs Chromium or Chrome on the PATH, or its path in WARPBANK_CHROMIUM")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=OPTIONS, timeout=240_000)
        yield started
        started.close()


@contextmanager
def visit(browser: Any, path: Path, **options: Any) -> Iterator[Visit]:
    """Open a file, as a reader would, without a network."""
    context = browser.new_context(**options)
    context.set_default_timeout(240_000)
    context.set_offline(True)
    seen = Visit(context.new_page())
    seen.page.on("console", lambda message: seen.said.append(message.text))
    seen.page.on("pageerror", lambda error: seen.said.append(str(error)))
    seen.page.on("request", lambda request: seen.asked.append(request.url))
    seen.page.goto(path.as_uri())
    yield seen
    context.close()

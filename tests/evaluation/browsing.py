"""A real browser for tests of pages: Debian's Chromium through playwright, watched for what it asks and refuses."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from tests.waiting import LONG

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_WATCH = """
window.__violations = [];
addEventListener('securitypolicyviolation', (event) => window.__violations.push(event.violatedDirective));
"""


@dataclass
class Watched:
    """A page with every address that it asked for and every error that it had."""

    page: Page
    asked: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])

    def show(self, address: str) -> Page:
        """Open an address and wait until the page has drawn itself."""
        self.page.goto(address)
        self.page.wait_for_selector("body[data-ready], table.traces, p.empty")
        return self.page

    @property
    def violations(self) -> list[str]:
        """Directives of the page's policy that something ran against."""
        return self.page.evaluate("window.__violations")


def let_draw(page: Page) -> None:
    """Return when the page has drawn two frames: what was opened or scrolled to is there then."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _chromium() -> str:
    found = os.environ.get("TRADEFAIR_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no Chromium here (apt-get install chromium, or name one in TRADEFAIR_CHROMIUM)")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window; one for the tests of a module."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = _chromium()
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def watched(browser: Browser, *, width: int = 1280) -> Generator[Watched]:
    """A fresh page of this width."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(1_000 * LONG)
    seen = Watched(page)
    page.add_init_script(_WATCH)
    page.on("request", lambda request: seen.asked.append(request.url))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda message: seen.errors.append(message.text) if message.type == "error" else None)
    yield seen
    page.close()

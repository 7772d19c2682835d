"""What tests of pages share: a browser, and a way to show a page in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browsing import CHROMIUM, QUIET, Tab, nothing_is_cut_off, watched

from wherewhat.report.core.page import Page
from wherewhat.report.core.render import render


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests of this folder that a process runs."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine to open the report in")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield running
        running.close()


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Callable[..., Any]:
    """Draw a page and open it: `with shown(page, width=390, color_scheme="dark") as tab`."""

    @contextmanager
    def showing(page: Page, **settings: Any) -> Iterator[Tab]:
        path = tmp_path / "report.html"
        path.write_text(render(page), encoding="utf-8")
        with watched(browser, path, **settings) as tab:
            yield tab
            nothing_is_cut_off(tab)

    return showing

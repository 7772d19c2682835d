"""A browser for pages: open one with the network off, and see that nothing goes wrong inside it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
Tab = Any  # a page of playwright's; its types are not at hand where it is not installed


@contextmanager
def watched(browser: Any, path: Path, *, width: int = 1280, height: int = 900, **settings: Any) -> Iterator[Tab]:
    """Open a file; on leaving, nothing may have gone wrong inside or been asked of outside."""
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **settings)
    context.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
    context.set_default_timeout(15_000)
    tab, wrong, asked = context.new_page(), [], []
    tab.on("console", lambda message: wrong.append(message.text) if message.type in {"error", "warning"} else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(path.as_uri())
    tab.wait_for_selector("html[data-ready]", timeout=60_000)
    yield tab
    assert wrong == []
    assert asked == [path.as_uri()]
    context.close()


CUT_OFF = """
() => [...document.querySelectorAll("svg text")].filter((text) => {
  const words = text.getBoundingClientRect();
  const chart = text.closest("svg").getBoundingClientRect();
  const seen = words.width > 0 && getComputedStyle(text).opacity > 0;
  return seen && (words.left < chart.left - 2 || words.right > chart.right + 2);
}).map((text) => text.textContent)
"""


def nothing_is_cut_off(tab: Tab) -> None:
    """The page is no wider than its window, and every word of a chart lies inside the chart."""
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate(CUT_OFF) == []

"""Make the parts of the documentation that come from the project itself: families, encodings, figures, a picture."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = re.compile(r"(<!-- families -->\n).*?(<!-- /families -->)", re.DOTALL)


def with_table(page: str, table: str) -> str:
    """A page with its table of families made anew."""
    return FAMILIES.sub(lambda found: f"{found[1]}{table}\n{found[2]}", page)


def picture(path: Path) -> None:
    """Take a picture of the first screen of the built-in model's report."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([sys.executable, "-m", "wherewhat", "heads", "--out", folder, "--quiet"], check=True)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(f"file://{folder}/report.html")
        page.wait_for_timeout(1500)
        page.screenshot(path=path)
        browser.close()


def main() -> None:
    """Write all of them."""
    sys.path.insert(0, str(ROOT / "tests" / "capture"))
    import encodings_page
    import figures
    from families import families_table

    page = ROOT / "docs" / "families.md"
    page.write_text(with_table(page.read_text(), families_table()))
    encodings_page.PAGE.write_text(encodings_page.page(encodings_page.PAGE.read_text()))
    encodings_page.pictures()
    figures.main()
    picture(ROOT / "docs" / "report.png")


if __name__ == "__main__":
    main()

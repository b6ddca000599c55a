"""Take the pictures of report and dashboard: python docs/screenshots.py, where snakemake has run.

Needs `pip install playwright` and a Chromium: the system's, or that of `playwright install chromium`.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).resolve().parent
VIEWPORT = {"width": 1440, "height": 900}
REPORT = {"width": 1200, "height": 900}
PATIENCE_MS = 180_000
# After the first data are there, to draw all of them.
SETTLED_MS = 3000
# MLflow opens a panel beside the runs once in each browser.
ASSISTANT = "[data-component-id='mlflow.assistant.chat_panel.close']"


def main() -> int:
    """Photograph the report, then serve the store and photograph what `eigenbench ui` links to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--experiment", default="mnist")
    parser.add_argument("--report", type=Path, default=Path("reports") / "index.html")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of report.png and images")
    parser.add_argument("--dashboard", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    images = options.docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=REPORT)
        page.goto(options.report.resolve().as_uri())
        _photograph_page(page, options.docs / "report.png")
        if options.dashboard:
            command = [sys.executable, "-m", "eigenbench.cli", "ui"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
                try:
                    _photograph(browser, _links(server)[options.suite], options.experiment, images)
                finally:
                    server.terminate()
        browser.close()
    return 0


def _links(server: subprocess.Popen[str]) -> dict[str, dict[str, str]]:
    """Read what the command prints: the views of each suite, by title."""
    assert server.stdout is not None
    links: dict[str, dict[str, str]] = {}
    views: dict[str, str] = {}
    for line in server.stdout:
        if not (found := re.fullmatch(r"( *)(.+): (http\S+)\n", line)):
            break
        indent, title, url = found.groups()
        if not indent:
            views = links.setdefault(title, {"runs": url})
        else:
            views[title] = url
    return links


def _photograph(browser: Browser, views: dict[str, str], experiment: str, images: Path) -> None:
    page = browser.new_page(viewport=VIEWPORT)
    _open(page, views["runs"], "a[href*='/runs/']")
    _photograph_page(page, images / "dashboard-runs.png")
    ranking = next(url for title, url in views.items() if title.endswith(f", {experiment}"))
    _open(page, ranking, "text=95 % interval")
    _photograph_page(page, images / "dashboard-ranking.png")
    _open(page, ranking.replace("/artifacts/methods.csv", ""), "table a[href*='/runs/']")
    base = ranking.partition("#")[0]
    link = page.locator("table a[href*='/runs/']").first.get_attribute("href")
    _open(page, f"{base}{link}", "text=Run it:")
    _photograph_page(page, images / "dashboard-method.png")


def _photograph_page(page: Page, path: Path) -> None:
    """Keep a picture of what the window shows, with few colours: text stays sharp at a third of the bytes."""
    with Image.open(io.BytesIO(page.screenshot())) as image:
        few = image.convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


def _open(page: Page, url: str, selector: str) -> None:
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_selector(selector, timeout=PATIENCE_MS)
    page.wait_for_timeout(SETTLED_MS)
    if (panel := page.locator(ASSISTANT)).count():
        panel.first.click()
        page.wait_for_timeout(SETTLED_MS)


if __name__ == "__main__":
    sys.exit(main())

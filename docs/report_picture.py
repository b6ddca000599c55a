"""Take the picture of a report that the README shows: docs/report_picture.py reports/index.html."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

SIZE = (1200, 900)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "report.png")
    arguments = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        parser.error(f"no browser: install one of {', '.join(BROWSERS)}")
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "picture.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += [f"--user-data-dir={folder}/profile", f"--screenshot={picture}"]
        options += [f"--window-size={SIZE[0]},{SIZE[1]}"]
        page = arguments.report.resolve().as_uri()
        subprocess.run([browser, *options, page], check=True, capture_output=True)
        # A palette keeps text sharp at a third of the bytes.
        with Image.open(picture) as image:
            image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(arguments.out, optimize=True)
    print(f"{arguments.out}: {arguments.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

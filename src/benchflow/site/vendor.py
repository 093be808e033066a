"""Third-party files of a site: fetched by npm from assets/package-lock.json, kept between builds.

The lock file pins each package by version and checksum; nothing of theirs runs (`--ignore-scripts`)
and nothing is fetched twice. A machine without npm builds a whole site all the same: the console
is then its searchable text without the player, and the reader's own fonts are used.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchflow.base.home import home

ASSETS = Path(__file__).parent / "assets"
_TIMEOUT_SECONDS = 300

#: Where a file lies in its package → its name in a site's assets/vendor.
_FILES = {
    "asciinema-player/dist/bundle/asciinema-player.min.js": "asciinema-player.min.js",
    "asciinema-player/dist/bundle/asciinema-player.css": "asciinema-player.css",
    "asciinema-player/LICENSE": "asciinema-player.LICENSE",
    "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2": "inter.woff2",
    "@fontsource-variable/inter/LICENSE": "inter.LICENSE",
    "@fontsource-variable/source-serif-4/files/source-serif-4-latin-wght-normal.woff2": (
        "source-serif-4.woff2"
    ),
    "@fontsource-variable/source-serif-4/LICENSE": "source-serif-4.LICENSE",
}
FONTS_CSS = """\
@font-face { font-family: "Inter Variable"; font-weight: 100 900; font-display: swap;
  src: url("inter.woff2") format("woff2"); }
@font-face { font-family: "Source Serif 4 Variable"; font-weight: 200 900; font-display: swap;
  src: url("source-serif-4.woff2") format("woff2"); }
"""


@dataclass(frozen=True)
class Vendor:
    """`folder` holds the files, or is None with `why` in words for the person who builds."""

    folder: Path | None
    why: str = ""


def vendor() -> Vendor:
    """The third-party files; fetched once per lock file into the cache, by npm."""
    lock = (ASSETS / "package-lock.json").read_bytes()
    folder = home() / "site" / hashlib.sha256(lock).hexdigest()[:16]
    if folder.is_dir():
        return Vendor(folder)
    npm = shutil.which("npm")
    if npm is None:
        return Vendor(None, "npm is not installed: consoles are shown as text, without the player")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        work = Path(name)
        for file in ("package.json", "package-lock.json"):
            shutil.copyfile(ASSETS / file, work / file)
        try:
            subprocess.run(
                [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                cwd=work,
                check=True,
                capture_output=True,
                timeout=_TIMEOUT_SECONDS,
            )
        except (OSError, subprocess.SubprocessError):
            return Vendor(None, "npm could not fetch the player: consoles are shown as text")
        ready = work / "ready"
        ready.mkdir()
        for source, target in _FILES.items():
            shutil.copyfile(work / "node_modules" / source, ready / target)
        (ready / "fonts.css").write_text(FONTS_CSS, encoding="utf-8")
        ready.rename(folder)
    return Vendor(folder)


def own_files() -> list[Path]:
    """The site's own scripts, styles and icon."""
    return sorted(path for path in ASSETS.iterdir() if path.suffix in (".js", ".css", ".svg"))

"""Look at every page of the built site in chromium, on a phone and on a desktop: `python scripts/check_site.py`.

A page fails if axe-core finds a violation in the light or the dark scheme, if it needs sideways scrolling, or if more than
two clicks on links in its text lead to it from the first page. `make browser` installs chromium and axe-core. The sample
pages are reports: the tests of the report look at those.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
AXE = Path(os.environ.get("TILTMETER_AXE") or ROOT / ".browser/node_modules/axe-core/axe.min.js")
SCREENS = {"phone": (390, 844), "desktop": (1280, 900)}
SCHEMES = {"light": "default", "dark": "slate"}
CLICKS = 2
PROBE = """
const done = arguments[arguments.length - 1];
document.querySelectorAll('details').forEach(d => d.open = true);
axe.run({resultTypes: ['violations']}).then(found => done({
  violations: found.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 120)]),
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth}));
"""


def pages_of(site: Path) -> dict[str, str]:
    """Pages of the documentation by their name, as HTML; without the page for addresses that do not exist."""
    return {
        str(path.relative_to(site)): path.read_text(encoding="utf-8")
        for path in sorted(site.rglob("*.html"))
        if path.name != "404.html" and "samples" not in path.relative_to(site).parts
    }


def clicks_to(pages: dict[str, str], first: str = "index.html") -> dict[str, int]:
    """Count the clicks from the first page to each page that links in the text of pages lead to.

    Args:
        pages: HTML of each page by its name.
        first: The page to start from.

    Returns:
        The least number of clicks; pages that no link leads to are left out.
    """
    clicks, waiting = {first: 0}, [first]
    while waiting:
        page = waiting.pop(0)
        text = pages[page].partition("<article")[2].partition("</article>")[0]
        for target in re.findall(r'href="([^":#]+\.html)', text):
            name = os.path.normpath(Path(page).parent / target)
            if name in pages and name not in clicks:
                clicks[name] = clicks[page] + 1
                waiting.append(name)
    return clicks


@contextmanager
def _chromium() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    with tempfile.TemporaryDirectory() as profile:
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        driver.set_script_timeout(300)
        try:
            yield driver
        finally:
            driver.quit()


def look(browser: Any, page: Path, screen: str, scheme: str) -> list[str]:
    """Open a page on a screen in a scheme, and return what is wrong with it."""
    width, height = SCREENS[screen]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": screen == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    browser.get(page.as_uri())
    browser.execute_script(f"document.body.setAttribute('data-md-color-scheme', {json.dumps(SCHEMES[scheme])})")
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script(PROBE)
    wide = [f"{found['wide']} pixels too wide"] if found["wide"] > 0 else []
    return wide + [f"{rule} ({count} times): {html}" for rule, count, html in found["violations"]]


def main() -> int:
    """Check all pages, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", nargs="?", type=Path, default=ROOT / "site")
    parser.add_argument("--only", nargs="*", help="names of pages, such as gate.html")
    parser.add_argument("--pictures", type=Path, help="folder for a screenshot of each page")
    options = parser.parse_args()
    if not (shutil.which("chromium") and AXE.is_file()):
        print("No chromium or axe-core (`make browser`): the site is not looked at.")
        return 0
    pages = pages_of(options.site)
    clicks = clicks_to(pages)
    wrong = [f"{name}: no {CLICKS} clicks lead to it" for name in pages if clicks.get(name, CLICKS + 1) > CLICKS]
    with _chromium() as browser:
        for name in options.only or pages:
            for screen in SCREENS:
                for scheme in SCHEMES:
                    faults = look(browser, (options.site / name).resolve(), screen, scheme)
                    wrong += [f"{name}, {screen}, {scheme}: {fault}" for fault in faults]
                if options.pictures:
                    options.pictures.mkdir(parents=True, exist_ok=True)
                    browser.save_screenshot(str(options.pictures / f"{Path(name).stem}-{screen}.png"))
    print(*wrong, sep="\n")
    print(f"{len(pages)} pages; at most {max(clicks.values())} clicks; {len(wrong)} faults.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

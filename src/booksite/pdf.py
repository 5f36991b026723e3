"""The whole book as one PDF, `python -m booksite.pdf`: the built site, printed by Chromium, with still pictures.

All articles become one document, so that Chromium makes the links between pages links inside the PDF, and its outline
of all headings. The folder `print/` holds what runs in the browser.
"""

import io
import shutil
import sys
import threading
from pathlib import Path

import yaml
from playwright.sync_api import Browser, Page, sync_playwright
from pypdf import PdfReader

from booksite.serve import SITE, make_server
from topiclens.files import whole_file

HERE = Path(__file__).parent / "print"
BOOK = SITE.parent / "book.pdf"
PAPER_WIDTH = 660  # CSS pixels that A4 leaves between the margins
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",  # Chromium has none for root, which is who runs in a container
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)

PAPER = {
    "format": "A4",
    "margin": {"top": "16mm", "bottom": "18mm", "left": "17.5mm", "right": "17.5mm"},
    "print_background": True,
    "display_header_footer": True,
    "header_template": "<span></span>",
    "footer_template": '<p class="pageNumber" style="width: 100%; text-align: center; font-size: 8px"></p>',
}


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


def parts_of(toc: Path) -> list[dict]:
    """The table of contents: [{"caption": …, "pages": [name, …]}, …], the first page in a part of its own."""
    contents = yaml.safe_load(toc.read_text(encoding="utf-8"))
    parts = [{"caption": p["caption"], "pages": [c["file"] for c in p["chapters"]]} for p in contents["parts"]]
    return [{"caption": "", "pages": [contents["root"]]}, *parts]


def open_book(browser: Browser, origin: str, parts: list[dict]) -> Page:
    """A page that holds the articles of all `parts`, ready to be printed; `origin` serves the built site."""
    page = browser.new_page(viewport={"width": PAPER_WIDTH, "height": 900}, color_scheme="light")
    page.set_default_timeout(0)
    page.goto(f"{origin}/{parts[0]['pages'][0]}.html")
    page.set_content(page.evaluate((HERE / "collect.js").read_text(encoding="utf-8"), parts))
    page.add_style_tag(path=HERE / "print.css")
    page.emulate_media(media="print")
    page.evaluate((HERE / "still.js").read_text(encoding="utf-8"))
    return page


def print_book(page: Page, path: Path) -> None:
    """Write the PDF; a first printing finds the page numbers of the contents, which Chromium's CSS cannot refer to."""
    draft = PdfReader(io.BytesIO(page.pdf(**PAPER)))
    places = draft.named_destinations
    for entry in page.locator(".book-contents [data-place]").all():
        place = places[f"/{entry.get_attribute('data-place')}"]
        entry.evaluate("(entry, number) => (entry.textContent = number)", draft.get_destination_page_number(place) + 1)
    with whole_file(path) as temporary:
        page.pdf(path=temporary, outline=True, tagged=True, **PAPER)


def main() -> str | None:
    """Write the book. Returns what went wrong, if anything did."""
    executable = find_chromium()
    if executable is None:
        return "no Chromium found: install one (Debian: apt-get install chromium) to print the book"
    try:
        server = make_server(SITE, 0)
    except FileNotFoundError as error:
        return str(error)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        page = open_book(browser, f"http://127.0.0.1:{server.server_port}", parts_of(Path("_toc.yml")))
        print_book(page, BOOK)
        browser.close()
    print(f"{BOOK}: {BOOK.stat().st_size / 1e6:.1f} MB")
    return None


if __name__ == "__main__":
    sys.exit(main())

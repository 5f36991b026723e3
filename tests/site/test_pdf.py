"""The book on paper: nothing blank, nothing cut, links that stay inside."""

import re

import pytest
from pypdf import PdfReader

from booksite.pdf import open_book, print_book

PARTS = [  # figures of each kind, wide tables, the playground's place, long code
    {"caption": "", "pages": ["book/intro"]},
    {"caption": "Some", "pages": ["book/03-one-layer", "book/08-either-layer", "book/playground"]},
]

BLANK_FIGURES = """
async () => {
  async function colours(image) {
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const { data } = canvas.getImageData(0, 0, image.width, image.height);
    return new Set(new Uint32Array(data.buffer)).size;
  }
  const figures = [...document.querySelectorAll(".book-figure")];
  const seen = await Promise.all(figures.map((figure) => colours(figure.querySelector("img"))));
  return figures.filter((_, n) => seen[n] < 20).map((figure) => figure.ariaLabel);
}
"""

CUT = """
() => [...document.querySelectorAll("pre, table, .cell_output, div.math mjx-container, article")]
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible"
              || e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => e.textContent.trim().slice(0, 80))
"""


@pytest.fixture(scope="module")
def book(browser, origin):
    page = open_book(browser, origin, PARTS)
    yield page
    page.close()


def test_figures_are_drawn(book):
    assert book.locator(".book-figure").count() >= 4
    assert book.evaluate(BLANK_FIGURES) == []


def test_nothing_is_cut_or_folded(book):
    assert book.locator("pre").count() > 20
    assert book.evaluate(CUT) == []
    assert book.locator("details:not([open])").count() == 0
    assert book.locator(".math:not(:has(mjx-container))").count() == 0
    assert book.evaluate("document.body.scrollWidth <= innerWidth")


def test_links_stay_inside(book):
    links = book.evaluate("[...document.links].map((link) => link.getAttribute('href'))")
    ids = set(book.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)"))
    inside = [link[1:] for link in links if link.startswith("#")]
    assert {"book-03-one-layer", "book-playground"} <= set(inside) <= ids
    assert all(link.startswith(("#", "https://")) for link in links)


def test_paper(book, tmp_path):
    print_book(book, tmp_path / "book.pdf")
    pdf = (tmp_path / "book.pdf").read_bytes()
    contents, *pages = (page.extract_text() for page in PdfReader(tmp_path / "book.pdf").pages)
    for part in PARTS:
        for name in part["pages"]:
            title = book.locator(f"#{name.replace('/', '-')} h1").inner_text()
            number = int(re.search(rf"{re.escape(title)}\s+(\d+)", contents)[1])
            assert title in " ".join(pages[number - 2].split())  # which may be broken into lines
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", pdf)) > 10
    assert len(re.findall(rb"/Dest\b", pdf)) > 20
    assert b"/Outlines" in pdf
    assert b"127.0.0.1" not in pdf

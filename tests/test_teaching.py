"""Pages beside the chapters repeat numbers of the chapters; a chapter must still state them."""

import re

import nbformat
import pytest


def texts(notebook):
    for cell in notebook.cells:
        yield cell.source
        for output in cell.get("outputs", []):
            yield output.get("text", "") or output.get("data", {}).get("text/plain", "")


@pytest.mark.parametrize(("page", "least"), [("teaching.md", 30), ("new-results.md", 4)])
def test_numbers_are_those_of_the_chapters(page, least, pytestconfig):
    book = pytestconfig.rootpath / "book"
    chapters = [nbformat.read(path, as_version=4) for path in book.glob("[0-9]*.ipynb")]
    stated = "\n".join(text for chapter in chapters for text in texts(chapter))
    numbers = re.findall(r"\d*\.\d{2,}", (book / page).read_text(encoding="utf-8"))
    assert len(numbers) > least
    assert [number for number in numbers if number not in stated] == []

"""The page for lecturers repeats numbers of the chapters; a chapter must still state them."""

import re

import nbformat


def texts(notebook):
    for cell in notebook.cells:
        yield cell.source
        for output in cell.get("outputs", []):
            yield output.get("text", "") or output.get("data", {}).get("text/plain", "")


def test_numbers_are_those_of_the_chapters(pytestconfig):
    book = pytestconfig.rootpath / "book"
    chapters = [nbformat.read(path, as_version=4) for path in book.glob("[0-9]*.ipynb")]
    stated = "\n".join(text for chapter in chapters for text in texts(chapter))
    numbers = re.findall(r"\d*\.\d{2,}", (book / "teaching.md").read_text(encoding="utf-8"))
    assert len(numbers) > 30
    assert [number for number in numbers if number not in stated] == []

"""The lecture's slides, `python -m booksite.slides`: runs book/slides.ipynb and puts it beside the built site.

nbconvert's reveal.js exporter does the work; the folder `slides/` holds its template. reveal.js comes out of an
installed package, like the site's other libraries.
"""

import importlib.util
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import SlidesExporter
from sphinx.util.fileutil import copy_asset

from booksite.figure_html import MIME, figure_html
from booksite.outputs import CELL_TIMEOUT
from booksite.serve import SITE
from topiclens.files import whole_file

NOTEBOOK = Path("book/slides.ipynb")
REVEAL_PARTS = ("dist", "plugin/notes")


def as_pages_show_it(notebook: nbformat.NotebookNode) -> None:
    """Figures as the site's own HTML, and no progress bars."""
    for cell in notebook.cells:
        outputs = [output for output in cell.get("outputs", []) if output.get("name") != "stderr"]
        for output in outputs:
            if MIME in output.get("data", {}):
                output.data = {"text/html": figure_html(output.data[MIME])}
        if outputs or "outputs" in cell:
            cell.outputs = outputs


def main() -> int:
    site = Path(SITE)
    if not (site / "_static" / "book.js").exists():
        print(f"there is no site in {site}: build it first (make html)", file=sys.stderr)
        return 1
    reveal = Path(importlib.util.find_spec("sphinx_revealjs").origin).parent / "_static" / "revealjs"
    for part in REVEAL_PARTS:
        copy_asset(reveal / part, site / "_static" / "reveal" / part)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=CELL_TIMEOUT, kernel_name="python3").execute()
    as_pages_show_it(notebook)
    exporter = SlidesExporter(
        template_name="slides",
        extra_template_basedirs=[str(Path(__file__).parent)],
        exclude_input=True,
        reveal_theme="white",
        reveal_url_prefix="_static/reveal",
    )
    html, _ = exporter.from_notebook_node(notebook)
    with whole_file(site / "slides.html") as temporary:
        temporary.write_text(html, encoding="utf-8")
    print(f"slides: {site / 'slides.html'}; press S there for the speaker's notes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

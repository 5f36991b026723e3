"""Sphinx extension: plotly figures, local libraries, and pages that are never older than the code.

Everything that a page needs comes out of installed packages at build time, so the site asks no other host for
anything and the repository carries nobody else's files.
"""

import hashlib
import html
import importlib.metadata
import importlib.util
import logging
import re
import shutil
from pathlib import Path

import nbformat
from docutils import nodes
from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from sphinx.util.docutils import SphinxDirective
from sphinx.util.fileutil import copy_asset
from sphinx_proof.nodes import proof_node

from booksite.figure_html import MIME, BadFigureError, figure_html
from topiclens import playground

HERE = Path(__file__).parent

# What MathJax fetches on its own: fonts, and macros beyond the bundle, when a page first uses them.
MATHJAX_PARTS = ("tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2")


GAP = re.compile(r"^.*\S {2,}\S", re.MULTILINE)  # a line with a gap, as between a table's columns


class PlotlyRenderer:
    """myst-nb's way to take over a mime type: see the entry point in pyproject.toml.

    plotly's own renderers stay as they are, so that JupyterLab, VS Code and Colab each show figures their own way.
    """

    mime_priority_overrides = (("html", MIME, 1),)

    @staticmethod
    def handle_mime(renderer, data, inline):
        if data.mime_type != MIME or inline:
            return None
        try:
            return [nodes.raw(text=figure_html(data.content), format="html")]
        except BadFigureError as error:
            renderer.logger.warning(str(error), subtype="plotly", line=data.line)
            return []


def _digest(*paths: Path) -> str:
    """A hash of all files under `paths`, with the version of plotly, which makes every figure's JSON."""
    digest = hashlib.sha256(importlib.metadata.version("plotly").encode())
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder(root: Path) -> Path:
    """Where the book at `root` keeps what its notebooks put out, for this state of the package and the pins."""
    package = Path(importlib.util.find_spec("topiclens").origin).parent
    pins = root / "requirements.txt"
    return root / "_build" / ".jupyter_cache" / _digest(package, *([pins] if pins.exists() else []))


def _note_sources(app, config):
    """Let a change of code reach the pages.

    Sphinx re-reads a page when its own file or a setting changed, and jupyter-cache runs a notebook again when its
    cells changed; neither looks at the package that the cells import. So a hash of the package becomes the cache's
    folder, and a hash of this machinery a setting.
    """
    cache = cache_folder(Path(app.srcdir))
    for stale in cache.parent.glob("*"):
        if stale != cache:
            shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
    config.nb_execution_cache_path = str(cache)
    config.booksite_machinery = _digest(HERE)


def _run_notebooks(app, env, docnames):
    """Run the notebooks that the cache lacks, one on each processor; myst-nb would run them one after the other.

    What fails here is run again by myst-nb, which reports it.
    """
    if app.config.nb_execution_mode != "cache":
        return
    cache = get_cache(app.config.nb_execution_cache_path)
    for path in map(env.doc2path, docnames):
        if Path(path).suffix == ".ipynb":
            try:
                cache.match_cache_notebook(nbformat.read(path, as_version=4))
            except KeyError:
                cache.add_nb_to_project(path)
    quiet = logging.getLogger(__name__)
    quiet.setLevel(logging.WARNING)
    load_executor("local-parallel", cache, quiet).run_and_cache(timeout=app.config.nb_execution_timeout)


def _point_to_local_files(app, config):
    config.html_static_path = [*config.html_static_path, str(HERE / "static")]
    config.mathjax_path = "mathjax/tex-chtml.js"


def _stage_libraries(app):
    """Copy plotly.js and MathJax from their packages. jupyter-book would load all of a book's own _static/ eagerly."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    plotly = Path(importlib.util.find_spec("plotly").origin).parent
    copy_asset(plotly / "package_data" / "plotly.min.js", static)
    # The package's name has hyphens: it can be found, not imported by statement.
    mathjax = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
    for part in MATHJAX_PARTS:
        target = static / "mathjax" / part
        copy_asset(mathjax / part, target if (mathjax / part).is_dir() else target.parent)


def _give_proofs_titles(app, doctree):
    """sphinx_proof writes "Proof." into the text; folding a proof (class: dropdown) needs a title to click on.

    It also gives all proofs of a page the same id.
    """
    for proof in doctree.findall(proof_node):
        box = proof[0]
        box["ids"].remove("proof")
        opening = box.next_node(nodes.Text)
        opening.parent.replace(opening, nodes.Text(opening.removeprefix("Proof. ")))
        box.insert(0, nodes.title("", "Proof"))


def _let_lines_break(app, doctree):
    """Mark printed text whose lines may break on a phone: all but tables, which have gaps in two lines or more."""
    for text in doctree.findall(nodes.literal_block):
        if "output" in text["classes"] and len(GAP.findall(text.astext())) < 2:
            text["classes"].append("prose")


def _mend_roles(app, pagename, templatename, context, doctree):
    """docutils puts entries of a withdrawn role into its lists of references; screen readers then see empty lists."""
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def _add_play_link(app, pagename, templatename, context, doctree):
    """Below a chapter's title, a link to the playground with its setting, from `booksite_play` in _config.yml.

    It stands in the page and not in the notebook, where it would lead nowhere.
    """
    fragment = app.config.booksite_play.get(pagename)
    if fragment:
        address = html.escape(f"{context['pathto']('book/playground')}#{fragment}")
        link = f'<p class="book-play"><a href="{address}">▶ Play with this chapter\'s setting</a></p>'
        context["body"] = context["body"].replace("</h1>", f"</h1>{link}", 1)


def _add_map(app, pagename, templatename, context, doctree):
    """Above each chapter, where it stands in the argument: the numbered parts of _toc.yml and their chapters."""
    parts = [part for part in app.env.external_site_map.root.subtrees if part.numbered]
    if not any(pagename in part.items for part in parts):
        return

    def link(chapter):
        here = ' aria-current="page"' if chapter == pagename else ""
        title = html.escape(app.env.titles[chapter].astext())
        number = app.env.toc_secnumbers[chapter][""][0]
        address = context["pathto"](chapter)
        return f'<a href="{address}" title="{title}" aria-label="{number}: {title}"{here}>{number}</a>'

    boxes = [f"<li><span>{part.caption}</span> {' '.join(map(link, part.items))}</li>" for part in parts]
    nav = f'<nav class="book-map" aria-label="You are here"><ol>{"".join(boxes)}</ol></nav>'
    context["body"] = nav + context["body"]


class PlaygroundDirective(SphinxDirective):
    """`{playground}`: the place where the page's script starts the playground."""

    def run(self):
        text = "The playground trains a model in your browser and needs JavaScript for it."
        return [nodes.raw("", f'<div class="tl-place"><noscript>{text}</noscript></div>', format="html")]


def _stage_playground(app):
    if app.builder.format == "html":
        static = Path(app.outdir, "_static")
        script = f"{playground.page_script()}topiclensPlayground().mountInPage();\n"
        static.joinpath("playground.js").write_text(script, encoding="utf-8")
        static.joinpath("playground.css").write_text(playground.style(), encoding="utf-8")


def _load_playground(app, pagename, templatename, context, doctree):
    """Only the page that has the playground loads its files."""
    if 'class="tl-place"' in context.get("body", ""):
        app.add_css_file("playground.css")
        app.add_js_file("playground.js", loading_method="defer")


def _finish(app, exception):
    if app.builder.format == "html":
        # GitHub Pages otherwise drops every folder whose name starts with an underscore.
        Path(app.outdir, ".nojekyll").touch()
    if exception or app._warncount:
        # Sphinx would not read these pages again, nor warn again: the next build of a broken book would pass.
        Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)


def setup(app):
    app.add_config_value("booksite_machinery", "", "env")
    app.add_config_value("booksite_play", {}, "html", dict)
    app.connect("config-inited", _note_sources)
    app.connect("config-inited", _point_to_local_files)
    app.connect("builder-inited", _stage_libraries)
    app.connect("env-before-read-docs", _run_notebooks)
    app.connect("builder-inited", _stage_playground)
    app.connect("doctree-read", _give_proofs_titles)
    app.connect("doctree-read", _let_lines_break)
    app.connect("html-page-context", _mend_roles)
    app.connect("html-page-context", _add_play_link)
    app.connect("html-page-context", _add_map)
    app.connect("html-page-context", _load_playground)
    app.connect("build-finished", _finish)
    app.add_directive("playground", PlaygroundDirective)
    app.add_css_file("book.css")
    # The query makes browsers fetch plotly.js again after an upgrade, and only then.
    plotly = f"plotly.min.js?v={importlib.metadata.version('plotly')}"
    app.add_js_file("book.js", loading_method="defer", **{"data-plotly": plotly})
    app.add_js_file("memory.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}

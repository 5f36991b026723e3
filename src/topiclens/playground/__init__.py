"""A one-layer transformer that trains inside a page: plain JavaScript modules, read in the order listed here.

The site loads them as one script, a notebook's widget likewise, and the script starts itself anew in a worker; the
tests run that very script.
"""

import re
from importlib.resources import files

MODULES = ("random.js", "documents.js", "model.js", "optimizer.js", "theory.js", "trainer.js")
PAGE_MODULES = (
    "worker.js",
    "words.js",
    "link.js",
    "history.js",
    "picture.js",
    "chart.js",
    "claims.js",
    "controls.js",
    "playground.js",
    "main.js",
)


def source(modules: tuple[str, ...] = MODULES) -> str:
    """The modules as one script without imports and exports, for a place that takes no modules."""
    text = "\n".join(map(_read, modules))
    return re.sub(r"^import .*\n|^export ", "", text, flags=re.M)


def page_script() -> str:
    """Trainer and page as one function, whose source is also what its worker runs.

    Append what to do with it: `topiclensPlayground().mountInPage()` in a page of the site.
    """
    head, tail = '"use strict";', "return { mountInPage, render, serveTraining };"
    return f"const topiclensPlayground = () => {{\n{head}\n{source(MODULES + PAGE_MODULES)}\n{tail}\n}};\n"


def style() -> str:
    """The page's style sheet."""
    return _read("playground.css")


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")

"""pytest plugin: what `pytest --nbval` leaves out of its comparison, and what becomes of what it runs.

`booksite.outputs` stores text alone, so a run produces kinds of output that no stored notebook has. Figures are
looked at in a browser instead (tests/site). A notebook that passed whole goes into the cache of the book's build,
which then need not run it a second time.
"""

import copy

import pytest
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbval.plugin import IPyNbCell

from booksite.extension import cache_folder

NOT_COMPARED = (
    "application/vnd.jupyter.widget-view+json",
    "application/vnd.plotly.v1+json",
    "image/svg+xml",
    "stderr",  # progress bars
    "text/html",
    "text/latex",
    "text/markdown",
)


def pytest_configure(config):
    if config.option.nbval and not hasattr(config, "workerinput"):
        get_cache(cache_folder(config.rootpath)).list_cache_records()  # made before workers could make it at once


def pytest_itemcollected(item):
    if isinstance(item, IPyNbCell):
        item.parent.skip_compare = (*item.parent.skip_compare, *NOT_COMPARED)
        item.parent.passed = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if isinstance(item, IPyNbCell) and report.when == "call" and not report.failed:
        item.parent.passed.append(item)
    return report


def pytest_runtest_teardown(item, nextitem):
    if isinstance(item, IPyNbCell) and (nextitem is None or nextitem.parent is not item.parent):
        _keep_for_the_build(item.parent, item.config.rootpath)


def _keep_for_the_build(file, root):
    notebook = copy.deepcopy(file.nb)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if len(cells) != len(file.passed):
        return
    for number, (cell, ran) in enumerate(zip(cells, file.passed, strict=True), start=1):
        cell.outputs, cell.execution_count = ran.test_outputs or [], number
    bundle = CacheBundleIn(notebook, str(file.path))
    get_cache(cache_folder(root)).cache_notebook_bundle(bundle, check_validity=False, overwrite=True)

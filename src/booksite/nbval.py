"""pytest plugin: what `pytest --nbval` leaves out when it compares a notebook's outputs with those stored.

`booksite.outputs` stores text alone, so a run produces kinds of output that no stored notebook has. Figures are
looked at in a browser instead (tests/site).
"""

from nbval.plugin import IPyNbCell

NOT_COMPARED = (
    "application/vnd.jupyter.widget-view+json",
    "application/vnd.plotly.v1+json",
    "image/svg+xml",
    "stderr",  # progress bars
    "text/html",
    "text/latex",
    "text/markdown",
)


def pytest_itemcollected(item):
    if isinstance(item, IPyNbCell):
        item.parent.skip_compare = (*item.parent.skip_compare, *NOT_COMPARED)

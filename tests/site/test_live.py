"""Live controls where a kernel runs: a chapter in JupyterLab, its control moved, and the figure that follows."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import expect

CHAPTER = "05-values.ipynb"
PLAYGROUND = [
    "from topiclens import widgets\n\nplay = widgets.Playground('claim2', lr=0.01, until=40)\nplay",
    "print(play.step, play.settings['lr'], play.matrices['W_V'].shape, play.matrices['W_V'].any())",
]


@pytest.fixture(scope="module")
def lab(pytestconfig, tmp_path_factory):
    """The address of a JupyterLab with copies of notebooks, and nothing of this machine's own settings."""
    home = tmp_path_factory.mktemp("lab")
    notebooks = home / "notebooks"
    notebooks.mkdir()
    shutil.copy(pytestconfig.rootpath / "book" / CHAPTER, notebooks)
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in PLAYGROUND])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, notebooks / "playground.ipynb")
    own = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR", "LAB_SETTINGS_DIR", "LAB_WORKSPACES_DIR")
    places = {f"JUPYTER{name}" if name.startswith("LAB") else f"JUPYTER_{name}": str(home / name) for name in own}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"),
        *("--IdentityProvider.token=", f"--ServerApp.root_dir={notebooks}", "--LabApp.news_url=None"),
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    with open(home / "log", "w") as log:
        server = subprocess.Popen(command, env=os.environ | places, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}/lab"
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{address}/api/settings").close()
            break
        except OSError:
            if server.poll() is not None:
                pytest.fail((home / "log").read_text())
            time.sleep(0.2)
    yield address
    server.terminate()
    server.wait(20)


@pytest.fixture
def open_notebook(browser, lab):
    """Opens a notebook, its kernel ready."""
    context = browser.new_context(viewport={"width": 1280, "height": 1400})

    def open_it(name):
        page = context.new_page()
        page.goto(f"{lab}/tree/{name}")
        page.get_by_text(re.compile(r"Python 3.*\| Idle")).wait_for(timeout=120_000)
        return page

    yield open_it
    context.close()


def run_cell(page, text):
    """Run the first cell that holds `text`, and that cell."""
    cell = page.locator(".jp-CodeCell", has_text=text).first
    prompt = cell.locator(".jp-InputPrompt")
    for _ in range(6):  # JupyterLab may show a notebook before it listens to keys
        cell.locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        try:
            expect(prompt).not_to_have_text("[ ]:", timeout=10_000)
        except AssertionError:
            continue
        return cell
    return pytest.fail(f"the cell with {text!r} does not run")


def test_figure_follows_its_control(open_notebook):
    page = open_notebook(CHAPTER)
    cell = run_cell(page, "explore_values()")
    title = cell.locator(".js-plotly-plot .g-gtitle")
    title.wait_for(timeout=120_000)
    assert cell.locator(".js-plotly-plot").count() == 1  # the live figure, and not the still one too
    expect(title).to_contain_text("same word 0.213 · same topic 0.099")
    words = cell.locator(".widget-slider", has_text="words a document")
    words.locator(".noUi-handle").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(title).not_to_contain_text("same word 0.213")
    cell.get_by_label("selected positions visible").uncheck()
    expect(title).to_contain_text(re.compile(r"same word (0\.\d+) · same topic \1"))  # no brighter diagonal
    topics = cell.locator(".widget-slider", has_text="topics T")
    topics.locator(".noUi-handle").focus()
    for _ in range(7):
        page.keyboard.press("ArrowLeft")
    alert = cell.get_by_role("alert")
    expect(alert).to_contain_text("tau = 4 must be a whole number, between 1 and 3", timeout=20_000)


def test_playground_hands_its_matrices_back(open_notebook):
    page = open_notebook("playground.ipynb")
    cell = run_cell(page, "widgets.Playground")
    cell.locator(".tl-playground[data-step='0']").wait_for(timeout=120_000)
    cell.get_by_role("button", name="▶ Run").click()
    cell.locator(".tl-playground[data-step='40'][data-running='false']").wait_for(timeout=120_000)
    page.wait_for_timeout(500)  # for the matrices' way to the kernel
    output = run_cell(page, "print(play.step").locator(".jp-OutputArea-output")
    expect(output).to_have_text(re.compile(r"40 0.01 \(101, 101\) True"))

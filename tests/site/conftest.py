"""The built site in a real browser, with the network closed: one Chromium and one local server per test process."""

import json
import os
import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from booksite.figure_html import MIME
from booksite.pdf import ARGUMENTS, find_chromium, parts_of
from booksite.serve import SITE, make_server

expect.set_options(timeout=20_000)  # milliseconds; other tests use the processors, too

THEMES = ("light", "dark")
WIDTHS = (1280, 375)
FIGURE = re.compile(f'<script type="{re.escape(MIME)}">(.*?)</script>', re.S)


def page_names(root: Path) -> list[str]:
    """Every page of the table of contents, and the search page."""
    return [*(name for part in parts_of(root / "_toc.yml") for name in part["pages"]), "search"]


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", page_names(metafunc.config.rootpath))


@pytest.fixture(scope="session")
def site(pytestconfig):
    folder = pytestconfig.rootpath / SITE
    if not (folder / "index.html").exists():
        pytest.fail(f"there is no site in {folder}: build it first (make html)", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def origin(site):
    server = make_server(site, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    executable = find_chromium()
    if executable is None:
        message = "no Chromium found: install one (Debian: apt-get install chromium) to test the site in a browser"
        # A run that is meant to check everything must not pass with a part left out.
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def contexts(browser):
    """A browser profile for each theme and width, made when first asked for, so that scripts are fetched once."""
    made = {}

    def context(theme, width):
        if (theme, width) not in made:
            made[theme, width] = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        return made[theme, width]

    yield context
    for context in made.values():
        context.close()


class Visit:
    """A page open in the browser, and all that went wrong since it was opened."""

    def __init__(self, page, origin):
        self.page, self.origin, self.problems = page, origin, []
        page.on("request", self._note_request)
        page.on("requestfailed", self._note_failure)
        page.on("response", lambda r: self.problems.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
        page.on("pageerror", lambda error: self.problems.append(f"script error: {error}"))
        page.on("console", self._note_console)

    def _note_request(self, request):
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.problems.append(f"request to another host: {request.url}")

    def _note_failure(self, request):
        if request.failure != "net::ERR_ABORTED":  # which is what becomes of requests when the reader moves on
            self.problems.append(f"request failed: {request.url}")

    def _note_console(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(f"console {message.type}: {message.text}")

    def open(self, name):
        self.page.goto(f"{self.origin}/{name}.html")
        self.page.evaluate("window.MathJax?.startup.promise")
        return self.page

    def figure(self, number):
        """The page's figure of that number, scrolled to and drawn."""
        figure = self.page.locator(".book-figure").nth(number)
        figure.scroll_into_view_if_needed()
        self.page.wait_for_function("f => f.dataset.state === 'drawn'", arg=figure.element_handle())
        return figure


@pytest.fixture
def visit(contexts, origin):
    """Opens pages: visit(theme, width)."""
    visits = []

    def make(theme="light", width=1280):
        visits.append(Visit(contexts(theme, width).new_page(), origin))
        return visits[-1]

    yield make
    for each in visits:
        each.page.evaluate("localStorage.clear()")  # which remembers a chosen theme, for the next visit's page
        each.page.close()


@pytest.fixture(scope="session")
def find_figure(site, pytestconfig):
    """find_figure(suits) → name of the page and number in it of the first figure of the book that `suits`."""
    figures = [
        (name, number, json.loads(text))
        for name in page_names(pytestconfig.rootpath)
        for number, text in enumerate(FIGURE.findall((site / f"{name}.html").read_text(encoding="utf-8")))
    ]

    def find(suits):
        for name, number, figure in figures:
            if suits(figure):
                return name, number
        return pytest.fail("the book has no such figure")

    return find

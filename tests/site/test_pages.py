"""Every page, in both themes and at both widths: quiet, complete, within the screen, and fit for all readers."""

import gzip
import re

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from conftest import THEMES, WIDTHS

CHAPTER_WEIGHT = 300_000  # bytes, gzipped, besides what pages share

# Each figure: null, or what is wrong with how it is drawn.
FAULTS_OF_FIGURES = """
async () => {
  async function painted(image) {
    const picture = new Image();
    picture.src = image.getAttribute("href") || image.getAttribute("xlink:href");
    await Promise.race([picture.decode(), new Promise((_, reject) => setTimeout(reject, 10000, "no image"))]);
    const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    canvas.drawImage(picture, 0, 0);
    return canvas.getImageData(0, 0, picture.width, picture.height).data.some((v, i) => i % 4 === 3 && v > 0);
  }
  async function fault(figure) {
    if (figure.dataset.state !== "drawn") return figure.dataset.state ?? "not begun";
    const sizes = [figure, figure.querySelector(".main-svg")].map((e) => e.getBoundingClientRect());
    if (sizes.some(({ width, height }) => width < 100 || height < 100)) return "no size";
    if (sizes[1].width > sizes[0].width + 1) return "wider than its place";
    const gd = figure.querySelector(".js-plotly-plot");
    const images = [...gd.querySelectorAll(".heatmaplayer image")];
    const heatmaps = gd._fullData.filter((trace) => trace.visible === true && trace.type === "heatmap");
    if (images.length < heatmaps.length) return "a heatmap is missing";
    for (const image of images) if (!(await painted(image))) return "a heatmap is blank";
    const drawn = ".scatterlayer .trace :is(path, text), :is(.barlayer, .boxlayer, .contourlayer) path";
    const marks = [...images, ...gd.querySelectorAll(drawn)];
    const seen = marks.filter((mark) => mark.getBoundingClientRect().width > 0);
    return seen.length ? null : "blank";
  }
  const faults = await Promise.all([...document.querySelectorAll(".book-figure")].map(fault));
  return faults.filter((fault) => fault);
}
"""

FORMULAS_NOT_TYPESET = """
() => [...document.querySelectorAll(".math")]
  .filter((math) => !math.querySelector("mjx-container") || math.querySelector("mjx-merror"))
  .map((math) => math.textContent)
"""


def scroll_through(page):
    """From figure to figure, until each is drawn. A fixed pace would pass figures by on a machine with few frames."""
    page.evaluate("""async () => {
        for (const figure of document.querySelectorAll(".book-figure")) {
            figure.scrollIntoView();
            while (!/drawn|failed/.test(figure.dataset.state)) await new Promise((resolve) => setTimeout(resolve, 20));
        }
    }""")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_page(visit, name, theme, width):
    visit = visit(theme, width)
    page = visit.open(name)
    assert page.locator("html").get_attribute("data-theme") == theme
    scroll_through(page)
    problems = list(visit.problems)
    problems += [f"figure: {fault}" for fault in page.evaluate(FAULTS_OF_FIGURES)]
    problems += [f"formula not typeset: {formula}" for formula in page.evaluate(FORMULAS_NOT_TYPESET)]
    if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
        problems.append("the page scrolls sideways")
    # Contrast changes with the theme but not with the width, and all the rest with the width but not with the theme.
    rules = {"color-contrast": {"enabled": width == max(WIDTHS)}}
    if theme == "light" or width == max(WIDTHS):
        result = Axe().run(page, options={"resultTypes": ["violations"], "rules": rules}).response
        for violation in result["violations"]:
            if violation["impact"] in ("serious", "critical"):
                places = [(node["html"][:200], node["failureSummary"]) for node in violation["nodes"][:3]]
                problems.append(f"accessibility: {violation['id']}: {violation['help']}: {places}")
    assert not problems, "\n".join(problems)


def test_page_at_twice_its_size(visit, name):
    """200 % on a screen of 1280 pixels: figures are the wide ones still, on little room."""
    visit = visit("light", 640)
    page = visit.open(name)
    scroll_through(page)
    faults = page.evaluate(FAULTS_OF_FIGURES)
    assert not faults
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not visit.problems


def test_weight(site, name):
    weight = len(gzip.compress((site / f"{name}.html").read_bytes()))
    assert weight <= CHAPTER_WEIGHT


def test_front_door(visit):
    """The site's bare address leads to the first page."""
    visit = visit()
    visit.page.goto(f"{visit.origin}/")
    visit.page.wait_for_url("**/book/intro.html")


def test_github_pages_serves_all_folders(site):
    assert (site / ".nojekyll").exists()


def test_what_search_engines_and_previews_read(site, name, pytestconfig):
    """Each page describes itself, and names files that the site has; the address is the one of _config.yml."""
    address = yaml.safe_load((pytestconfig.rootpath / "_config.yml").read_text(encoding="utf-8"))["html"]["baseurl"]
    listed = re.findall("<loc>(.*?)</loc>", (site / "sitemap.xml").read_text(encoding="utf-8"))
    assert len(listed) == len(set(listed))
    assert all((site / each.removeprefix(address)).is_file() for each in listed)
    if name == "search":
        assert f"{address}search.html" not in listed
        return
    assert f"{address}{name}.html" in listed
    head = (site / f"{name}.html").read_text(encoding="utf-8").partition("</head>")[0]
    tags = dict(re.findall(r'<meta (?:name|property)="([\w:]+)" content="(.*?)" />', head))
    assert len(tags["description"]) > 10
    assert tags["og:description"] == tags["description"]
    assert tags["og:title"]
    assert tags["og:url"] == f"{address}{name}.html"
    assert tags["og:image:alt"]
    assert (site / tags["og:image"].removeprefix(address)).read_bytes().startswith(b"\x89PNG")


def test_map_of_the_argument(visit):
    """Each chapter shows where it stands, and the map leads on."""
    visit = visit()
    page = visit.open("book/04-embeddings")
    links = page.locator(".book-map a")
    assert page.locator(".book-map [aria-current]").inner_text() == "4"
    assert links.count() >= 8
    links.nth(4).click()
    page.wait_for_url("**/book/05-values.html")
    assert page.locator(".book-map [aria-current]").inner_text() == "5"
    assert not visit.problems

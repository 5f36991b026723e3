"""What a reader does with the pages: drag, play, point, click, download, print, search, follow links."""

import csv
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from playwright.sync_api import expect
from test_pages import scroll_through

from booksite.figure_html import figure_html

SCRUBBERS = ("book/intro", "book/04-embeddings")

# The first heatmap's numbers, as a list of rows.
NUMBERS = """
(figure) => {
  const trace = figure.querySelector(".js-plotly-plot")._fullData.find((trace) => trace.type === "heatmap");
  return Array.from(trace.z, (row) => Array.from(row));
}
"""


# Which matrix of the preview stands in its window, noted until the last one does; and when it began to move.
WATCH_PREVIEW = """
async (matrices) => {
  const place = matrices.parentElement;
  const last = matrices.height / matrices.width - 1;
  const seen = [];
  const [{ startTime }] = matrices.getAnimations();
  while (seen.at(-1) !== last) {
    const [top, windowTop] = [matrices, place].map((each) => each.getBoundingClientRect().top);
    seen.push(Math.round((windowTop - top) / place.clientHeight));
    await new Promise(requestAnimationFrame);
  }
  return { seen, startTime };
}
"""

# What the Tab key should reach in an article, and marks for what it has reached.
STOPS = "article :is(a[href], button, input, select, summary, [tabindex='0'])"
NEXT_STOP = f"""
() => {{
  const shown = (e) => e.checkVisibility({{ visibilityProperty: true }});
  const last = [...document.querySelectorAll("{STOPS}")].filter(shown).at(-1);
  window.stops = (window.stops ?? 0) + 1;
  return !last.dataset.reached && window.stops < 2000;
}}
"""
NOTE_STOP = """
() => {
  const stop = document.activeElement;
  stop.dataset.reached = true;
  const { outlineStyle, boxShadow } = getComputedStyle(stop);
  const { top, bottom, width } = stop.getBoundingClientRect();
  const seen = (outlineStyle !== "none" || boxShadow !== "none") && width > 1 && bottom > 0 && top < innerHeight;
  const folded = stop.matches("article :is(details:not([open]) > summary, .toggle-button-hidden)");
  return { seen: seen || !stop.closest("article"), folded, html: stop.outerHTML.slice(0, 120) };
}
"""
MISSED = f"""
() => [...document.querySelectorAll("{STOPS}")]
  .filter((e) => !e.dataset.reached && e.checkVisibility({{ visibilityProperty: true }}))
  .map((e) => e.outerHTML.slice(0, 120))
"""


def is_scrubber(figure):
    return bool(figure["layout"].get("sliders"))


def is_series(figure):
    return all(trace.get("type", "scatter") == "scatter" and "y" in trace for trace in figure["data"])


def is_carrier(figure):
    return [trace.get("name") for trace in figure["data"]] == ["favourite key", "largest output"]


def is_clickable(figure):
    return figure["layout"]["meta"].get("click") is True


def numbers(figure):
    return figure.evaluate(NUMBERS)


def wait_for_change(figure, before):
    """Until the heatmap shows other numbers than `before`."""
    changed = f"([figure, before]) => JSON.stringify(({NUMBERS})(figure)) !== JSON.stringify(before)"
    figure.page.wait_for_function(changed, arg=[figure.element_handle(), before])


def drag_slider(figure, share):
    """Take the slider's grip with the mouse and move it to `share` of the slider's length."""
    mouse = figure.page.mouse
    figure.locator(".slider-group").scroll_into_view_if_needed()
    grip = figure.locator(".slider-grip-rect").bounding_box()
    rail = figure.locator(".slider-rail-touch-rect").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(rail["x"] + rail["width"] * share, y, steps=8)
    mouse.up()


def press(figure, label):
    figure.locator(".updatemenu-button", has_text=label).click()


def plays_and_stops(figure):
    before = numbers(figure)
    press(figure, "Play")
    wait_for_change(figure, before)
    wait_for_change(figure, numbers(figure))
    press(figure, "Pause")
    figure.page.wait_for_timeout(300)  # a frame that was on its way
    stopped = numbers(figure)
    figure.page.wait_for_timeout(1000)
    return numbers(figure) == stopped


@pytest.fixture
def scrubber(visit, find_figure):
    visit = visit()
    name, number = find_figure(is_scrubber)
    visit.open(name)
    yield visit.figure(number)
    assert not visit.problems


def test_matrices_arrive_as_they_were_sent(visit):
    """figure_html.shrink and book.js undo each other, to a thousandth of the colour range."""
    rng = np.random.default_rng(0)
    gram = np.cov(rng.normal(size=(40, 60)))
    gap = rng.normal(size=(40, 40))
    gap[2, 3] = np.nan
    frames = [gram, gram + 0.2, rng.normal(size=(40, 40)), gap, gram]
    figure = go.Figure(
        go.Heatmap(z=frames[0].astype("float32"), zmin=-2, zmax=2),
        layout={"meta": {"alt": "numbers"}},
        frames=[go.Frame(name=str(k), data=[go.Heatmap(z=z.astype("float32"))]) for k, z in enumerate(frames)],
    )
    script = '<script defer src="_static/book.js" data-plotly="plotly.min.js"></script>'
    body = f"<!doctype html><title>test</title>{script}{figure_html(json.loads(figure.to_json()))}"
    visit = visit()
    visit.page.route("**/numbers.html", lambda route: route.fulfill(body=body, content_type="text/html"))
    visit.open("numbers")
    arrived = visit.figure(0).evaluate("""
        (figure) => figure.querySelector(".js-plotly-plot")._transitionData._frames
            .map(({ data }) => Array.from(data[0].z, (row) => Array.from(row)))
    """)
    for z, expected in zip(arrived, frames, strict=True):
        np.testing.assert_allclose(np.array(z, dtype=float), expected, atol=0.004)


@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("page", SCRUBBERS)
def test_drag(visit, site, page, width):
    visit = visit("light", width)
    visit.open(page)
    index = visit.page.evaluate("""
        () => [...document.querySelectorAll(".book-figure script")]
            .findIndex((script) => JSON.parse(script.textContent).layout.sliders)
    """)
    assert index >= 0, f"{page} has no figure with a slider"
    figure = visit.figure(index)
    before = numbers(figure)
    drag_slider(figure, 0.6)
    wait_for_change(figure, before)
    assert not visit.problems


def test_play_and_pause(scrubber):
    assert plays_and_stops(scrubber)


def test_play_after_drag_and_change_of_theme(scrubber):
    def colour():
        return scrubber.locator(".slider-label").first.evaluate("(label) => getComputedStyle(label).fill")

    def slider_tells_the_frame():
        return scrubber.evaluate("""
            (figure) => {
              const { sliders, _currentFrame } = figure.querySelector(".js-plotly-plot")._fullLayout;
              return sliders[0].steps[sliders[0].active].label === _currentFrame;
            }
        """)

    drag_slider(scrubber, 0.3)
    # What plotly does by itself now and then, when a frame is drawn in the moment of letting go.
    scrubber.evaluate("(f) => (f.querySelector('.js-plotly-plot')._fullLayout.sliders[0]._dragging = true)")
    light = colour()
    switch = scrubber.page.locator(".theme-switch-button").locator("visible=true")
    for _ in ("as the system has it", "dark", "light"):  # what the button goes through
        if scrubber.page.locator("html").get_attribute("data-theme") != "dark":
            switch.click()
    scrubber.page.wait_for_timeout(200)
    assert colour() != light
    assert plays_and_stops(scrubber)
    assert slider_tells_the_frame()


def test_slider_let_go_outside(scrubber):
    """A button released outside of the figure ends the drag too."""
    mouse = scrubber.page.mouse
    grip = scrubber.locator(".slider-grip-rect").bounding_box()
    mouse.move(grip["x"] + 5, grip["y"] + 5)
    mouse.down()
    mouse.move(grip["x"] + 60, grip["y"] + 5, steps=4)
    mouse.move(5, 5)
    mouse.up()
    scrubber.page.wait_for_timeout(200)
    position = scrubber.locator(".slider-grip-rect").bounding_box()
    mouse.move(grip["x"] + 200, grip["y"] + 5, steps=4)
    scrubber.page.wait_for_timeout(200)
    assert scrubber.locator(".slider-grip-rect").bounding_box() == position


def test_slider_and_buttons_by_keyboard(scrubber):
    keyboard = scrubber.page.keyboard
    slider = scrubber.get_by_role("slider")
    slider.focus()
    expect(slider).to_be_in_viewport()
    before, value = numbers(scrubber), int(slider.input_value())
    keyboard.press("ArrowLeft" if value else "ArrowRight")
    wait_for_change(scrubber, before)
    assert abs(int(slider.input_value()) - value) == 1
    before = numbers(scrubber)
    scrubber.get_by_role("button", name="Play").focus()
    keyboard.press("Enter")
    wait_for_change(scrubber, before)
    scrubber.get_by_role("button", name="Pause").focus()
    keyboard.press("Enter")
    assert slider.get_attribute("aria-valuetext")


def test_menu_by_keyboard(visit, find_figure):
    visit = visit()
    name, number = find_figure(is_clickable)
    visit.open(name)
    figure = visit.figure(number)
    before = numbers(figure)
    menu = figure.locator("select:not([hidden])").last
    menu.select_option(index=1)
    wait_for_change(figure, before)
    assert not visit.problems


def test_a_chapter_by_keyboard_alone(visit):
    """The Tab key reaches all that answers to a pointer and shows where it is; Enter opens what is folded."""
    visit = visit()
    page = visit.open("book/04-embeddings")
    scroll_through(page)
    page.evaluate("window.scrollTo(0, 0)")
    unseen = []
    while page.evaluate(NEXT_STOP):
        page.keyboard.press("Tab")
        stop = page.evaluate(NOTE_STOP)
        if stop["folded"]:
            page.keyboard.press("Enter")
        if not stop["seen"]:
            unseen.append(stop["html"])
    assert not unseen
    assert page.evaluate(MISSED) == []
    assert page.locator("article :is(details:not([open]), .toggle-hidden)").count() == 0
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('article')")
    assert not visit.problems


def test_hover(scrubber):
    scrubber.locator(".nsewdrag").first.hover()
    text = scrubber.locator(".hoverlayer .hovertext").first
    text.wait_for()
    assert re.search(r"\d", text.text_content())


def download_table(figure):
    figure.locator(".nsewdrag").first.hover()
    with figure.page.expect_download() as download:
        figure.locator("[data-title='Download table as CSV']").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_download_of_a_matrix(scrubber):
    drag_slider(scrubber, 0.6)
    scrubber.page.wait_for_timeout(300)
    rows = [row for row in download_table(scrubber) if len(row) > 1]
    shown = numbers(scrubber)
    table = rows[1 : 1 + len(shown)]
    assert len(rows[0]) == 1 + len(shown[0])
    for row, expected in zip(table, shown, strict=True):
        assert [float(field) for field in row[1:]] == pytest.approx(expected, rel=1e-6)


def test_download_of_lines(visit, find_figure):
    visit = visit()
    name, number = find_figure(is_series)
    visit.open(name)
    figure = visit.figure(number)
    header, *rows = download_table(figure)
    traces = figure.evaluate("""
        (figure) => figure.querySelector(".js-plotly-plot")._fullData
            .filter((trace) => trace.visible === true).map(({ name, y }) => ({ name, y: Array.from(y) }))
    """)
    assert len(header) == 1 + len(traces)
    for column, trace in enumerate(traces, 1):
        written = [float(row[column]) for row in rows if row[column]]
        assert written == pytest.approx([y for y in trace["y"] if y is not None], rel=1e-6)


def test_download_of_points(visit, find_figure):
    """Many query words have the same favourite key: each keeps its row."""
    visit = visit()
    name, number = find_figure(is_carrier)
    visit.open(name)
    figure = visit.figure(number)
    rows = download_table(figure)
    points = figure.evaluate("""
        (figure) => figure.querySelector(".js-plotly-plot")._fullData
            .filter(({ visible }) => visible === true).map(({ x, y }) => Array.from(y, (value, i) => [x[i], value]))
    """)
    for named in ("favourite key", "largest output"):
        begin = rows.index([named]) + 2
        written = [[float(x), float(y)] for x, y, _ in rows[begin : begin + 100]]
        assert written in points
        assert rows[begin][2].startswith("query 1 (topic 1)")


def test_click_on_a_word_chooses_it(visit, find_figure):
    visit = visit()
    name, number = find_figure(is_clickable)
    visit.open(name)
    figure = visit.figure(number)
    before = numbers(figure)
    # The last entry of a menu, of those whose word can be clicked, and where on the screen that word is.
    menu, button, x, y = figure.evaluate("""
        (figure) => {
          const gd = figure.querySelector(".js-plotly-plot");
          for (const [menu, { buttons, visible, active }] of gd._fullLayout.updatemenus.entries()) {
            for (let button = buttons.length - 1; visible && button >= 0; button--) {
              for (const { text, xaxis, yaxis } of gd._fullData.filter(({ type }) => type === "heatmap")) {
                const row = (text ?? []).findIndex((words) => words.includes(buttons[button].label));
                if (row < 0 || button === active) continue;
                const [xa, ya] = [xaxis, yaxis].map((id) => gd._fullLayout[id[0] + "axis" + id.slice(1)]);
                const box = gd.getBoundingClientRect();
                const column = text[row].indexOf(buttons[button].label);
                return [menu, button, box.x + xa._offset + xa.c2p(column), box.y + ya._offset + ya.c2p(row)];
              }
            }
          }
        }
    """)
    visit.page.mouse.click(x, y)
    wait_for_change(figure, before)
    visit.page.wait_for_function(
        "([f, menu, button]) => f.querySelector('.js-plotly-plot')._fullLayout.updatemenus[menu].active === button",
        arg=[figure.element_handle(), menu, button],
    )
    assert not visit.problems


def test_figure_changes_with_the_width_of_the_window(visit, find_figure):
    """As when a tablet is turned: below 600 px a figure takes what layout.meta.narrow says."""
    visit = visit()
    name, number = find_figure(lambda figure: "height" in figure["layout"]["meta"].get("narrow", {}))
    page = visit.open(name)
    figure = visit.figure(number).element_handle()
    is_as_high = """
        ([figure, narrow]) => {
          const { height, meta } = figure.querySelector(".js-plotly-plot").layout;
          return (height === meta.narrow.height) === narrow;
        }
    """
    fits = """
        (figure) => {
          const widest = Math.max(...[...figure.querySelectorAll(".main-svg")].map((svg) => svg.clientWidth));
          return widest <= figure.clientWidth && document.documentElement.scrollWidth <= window.innerWidth;
        }
    """
    for width in (1280, 375, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(is_as_high, arg=[figure, width == 375])
        page.wait_for_function(fits, arg=figure)
    assert not visit.problems


def test_print_draws_what_was_not_seen(visit, site):
    figures = {path: path.read_text(encoding="utf-8").count('class="book-figure"') for path in site.rglob("*.html")}
    fullest = max(figures, key=figures.get)
    visit = visit()
    visit.page.set_viewport_size({"width": 1280, "height": 300})
    page = visit.open(fullest.relative_to(site).with_suffix(""))
    drawn = page.locator(".book-figure[data-state=drawn]")
    before = drawn.count()
    page.pdf()
    assert before < drawn.count() == figures[fullest]


def test_failure_is_shown(visit, find_figure):
    visit = visit()
    visit.page.route("**/plotly.min.js*", lambda route: route.abort())
    name, number = find_figure(is_scrubber)
    page = visit.open(name)
    figure = page.locator(".book-figure").nth(number)
    figure.scroll_into_view_if_needed()
    expect(figure.get_by_role("alert")).to_be_visible()
    assert any("figure not drawn" in problem for problem in visit.problems)


def test_what_is_wider_than_a_phone(visit):
    """Printed sentences break. A table scrolls, by the keyboard, too, and fades where it goes on."""
    visit = visit("light", 375)
    page = visit.open("book/09-real-text")
    assert page.locator(".prose pre").count() > 10
    assert not page.evaluate("[...document.querySelectorAll('.prose pre')].some((e) => e.scrollWidth > e.clientWidth)")
    table = page.locator(".cell_output .text_html.goes-on").first.element_handle()
    assert table.evaluate("table => table.tabIndex") == 0
    table.evaluate("table => (table.scrollLeft = table.scrollWidth)")
    page.wait_for_function("table => !table.classList.contains('goes-on')", arg=table)
    assert not visit.problems


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_first_figure_plays_before_plotly_is_there(browser, origin, motion):
    """A slow machine reads plotly for seconds. Its reader sees a moving figure before, or a still one if asked for."""
    context = browser.new_context(reduced_motion=motion)
    page, held = context.new_page(), []
    page.route("**/plotly.min.js*", lambda route: held.append(route))
    page.goto(f"{origin}/book/intro.html", wait_until="commit")
    figure = page.locator(".book-figure").first
    preview = figure.locator("canvas").evaluate(WATCH_PREVIEW)
    shown = preview["seen"]
    assert shown == sorted(shown)
    assert len(set(shown)) == 1 if motion == "reduce" else len(set(shown)) > 3
    colours = figure.locator("canvas").evaluate(
        "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    )
    assert colours > 50
    held[0].continue_()
    page.wait_for_function("f => f.dataset.state === 'drawn'", arg=figure.element_handle())
    assert not figure.locator(".preview").count()
    slider = figure.get_by_role("slider")
    assert slider.input_value() == slider.get_attribute("max")
    loaded = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.toJSON())")
    (plotly,) = (each for each in loaded if "plotly" in each["name"])
    assert plotly["startTime"] >= preview["startTime"]
    before = sum(each["encodedBodySize"] for each in loaded if each["startTime"] < preview["startTime"])
    assert before < plotly["encodedBodySize"]
    context.close()


def test_cross_reference(visit, site):
    """A link into another page arrives at what it names."""
    for path in sorted((site / "book").glob("*.html")):
        body = path.read_text(encoding="utf-8").partition("<article")[2]
        link = re.search(r'class="reference internal" href="([\w-]+\.html#[\w-]+)"', body)
        if link:
            break
    else:
        pytest.fail("no page refers to another")
    visit = visit()
    page = visit.open(f"book/{path.stem}")
    page.locator(f"article a[href='{link[1]}']").first.click()
    page.wait_for_url(f"**/{link[1]}")
    target = page.locator(f"[id='{link[1].partition('#')[2]}']").first
    expect(target).to_be_in_viewport()
    assert not visit.problems


def test_search(visit):
    visit = visit()
    page = visit.open("search")
    page.goto(f"{visit.origin}/search.html?q=topic")
    result = page.locator("#search-results li a").first
    result.click()
    page.wait_for_url("**/book/*.html*")
    expect(page.locator("article")).to_contain_text(re.compile("topic", re.I))
    assert not visit.problems


def test_the_browser_remembers_its_reader(visit):
    """Which exercises are solved, and where the reading stopped; the first page offers to go on there."""
    visit = visit()
    page = visit.open("book/04-embeddings")
    solved = page.get_by_label("solved")
    solved.nth(1).check()
    page.evaluate("document.querySelector('#two-optimisers').scrollIntoView()")
    visit.open("book/intro")
    page.get_by_role("link", name="Go on reading").click()
    page.wait_for_url("**/book/04-embeddings.html#two-optimisers")
    assert [box.is_checked() for box in solved.all()] == [False, True, False]
    solved.nth(1).uncheck()
    page.reload()
    assert not any(box.is_checked() for box in solved.all())
    assert not visit.problems

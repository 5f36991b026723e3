/* Draws the page's plotly figures, which lie in it as JSON (see figure_html.py), when the reader comes near them. */
(() => {
  "use strict";
  const loader = document.currentScript;
  const narrow = window.matchMedia("(max-width: 600px)"); // as in book.css
  const figures = document.getElementsByClassName("book-figure");
  const drawn = () => [...figures].map((figure) => figure.querySelector(".js-plotly-plot")).filter(Boolean);

  /* ---- from the page's JSON to plotly's ---- */

  /* Undoes figure_html.shrink, wherever in `figure` a matrix stands. */
  function restore(figure) {
    const frameBefore = []; // by number of the trace

    function matrix({ step, shape: [rows, columns], ints, trace, changes }) {
      if (ints.length < rows * columns) ints = symmetric(ints, rows);
      if (changes) ints = ints.map((change, i) => frameBefore[trace][i] + change);
      if (trace !== undefined) frameBefore[trace] = ints;
      const flat = Float32Array.from(ints, (n) => (n === null ? NaN : n * step));
      return Array.from({ length: rows }, (_, i) => flat.subarray(i * columns, (i + 1) * columns));
    }

    function walk(value) {
      if (value === null || typeof value !== "object") return value;
      if (value.ints) return matrix(value);
      for (const key of Object.keys(value)) value[key] = walk(value[key]);
      return value;
    }
    return walk(figure);
  }

  function symmetric(triangle, size) {
    const whole = Array(size * size);
    let next = 0;
    for (let i = 0; i < size; i++) {
      for (let j = 0; j <= i; j++) whole[i * size + j] = whole[j * size + i] = triangle[next++];
    }
    return whole;
  }

  function merge(base, more) {
    const merged = { ...base };
    for (const [key, value] of Object.entries(more)) {
      const deeper = value !== null && typeof value === "object" && !Array.isArray(value);
      merged[key] = deeper ? merge(merged[key] ?? {}, value) : value;
    }
    return merged;
  }

  /* The figure's template in the colours that the page has now. What a figure sets itself still wins over these. */
  function themed(template = {}) {
    const css = getComputedStyle(document.documentElement);
    const colour = (name) => css.getPropertyValue(`--pst-color-${name}`).trim();
    const [text, border, surface, page] = ["text-base", "border", "surface", "background"].map(colour);
    const clear = "rgba(0,0,0,0)";
    const axis = { gridcolor: border, linecolor: border, zerolinecolor: border, tickcolor: border };
    const layout = {
      paper_bgcolor: clear,
      plot_bgcolor: clear,
      font: { color: text, family: getComputedStyle(document.body).fontFamily },
      xaxis: axis,
      yaxis: axis,
      shapedefaults: { line: { color: "#888" } }, // seen on a matrix, which is bright in both themes, and beside it
      annotationdefaults: { arrowcolor: text },
      sliderdefaults: { bgcolor: surface, bordercolor: border, activebgcolor: text, tickcolor: text },
      updatemenudefaults: { bgcolor: surface, bordercolor: border },
      hoverlabel: { bgcolor: page, bordercolor: border, font: { color: text } },
      legend: { bgcolor: clear },
      modebar: { bgcolor: clear, color: text, activecolor: text },
    };
    return { ...template, layout: merge(template.layout ?? {}, layout) };
  }

  /* layout.meta.narrow holds what a figure changes on a phone, with keys as for Plotly.relayout: "xaxis.domain". */
  function set(layout, path, value) {
    const keys = path.split(/[.[\]]+/).filter(Boolean);
    const last = keys.pop();
    let place = layout;
    for (const key of keys) place = place[key] ??= {};
    place[last] = value;
  }

  /* ---- the table behind a figure ---- */

  const csvField = (value) => {
    const text = typeof value === "number" ? String(Number(value.toPrecision(7))) : String(value ?? "");
    const plain = text.replace(/<br\s*\/?>/g, " ").replace(/<[^>]*>/g, "");
    return /[",\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };

  function heatmapRows(trace) {
    const columns = trace.x ?? Array.from(trace.z[0], (_, j) => j);
    const rows = trace.y ?? Array.from(trace.z, (_, i) => i);
    return [["", ...columns], ...Array.from(trace.z, (row, i) => [rows[i], ...row])];
  }

  function seriesRows(traces, xTitle) {
    const table = new Map(); // x → a value per trace
    traces.forEach((trace, n) => {
      Array.from(trace.x ?? trace.y.keys(), (x, i) => {
        if (!table.has(x)) table.set(x, Array(traces.length).fill(""));
        table.get(x)[n] = trace.y[i];
      });
    });
    const header = [xTitle, ...traces.map((trace) => trace.name)];
    return [header, ...Array.from(table, ([x, values]) => [x, ...values])];
  }

  function pointRows({ name, x, y, text, hovertext }, xTitle, yTitle) {
    const words = [text, hovertext].find(Array.isArray) ?? [];
    return [[name], [xTitle, yTitle, "point"], ...Array.from(y, (value, i) => [x[i], value, words[i]])];
  }

  /* What is shown now (a slider's present position): a block for each matrix, and one for all lines or bars; or one for
     each trace where there are points at the same x, which have no row of their own in a common table. */
  function csv(gd) {
    const shown = gd._fullData.filter((trace) => trace.visible === true);
    const matrices = shown.filter((trace) => trace.type === "heatmap");
    const series = shown.filter((trace) => trace.y?.length && trace.type !== "heatmap");
    const blocks = matrices.map((trace) => (matrices.length > 1 ? [[trace.name]] : []).concat(heatmapRows(trace)));
    const title = (trace, letter) => gd._fullLayout[trace[`${letter}axis`].replace(letter, `${letter}axis`)].title?.text;
    const xTitles = series.map((trace) => title(trace, "x"));
    const xTitle = xTitles.find(Boolean) ?? "x"; // of panels above each other one has it
    if (series.some(({ x, y }) => x && new Set(x).size < y.length)) {
      blocks.push(...series.map((trace, n) => pointRows(trace, xTitles[n] || xTitle, title(trace, "y") || "y")));
    } else if (series.length) blocks.push(seriesRows(series, xTitle));
    return blocks.map((rows) => rows.map((row) => Array.from(row, csvField).join(",") + "\r\n").join("")).join("\r\n");
  }

  const downloadButton = {
    name: "csv",
    title: "Download table as CSV",
    icon: { width: 24, height: 24, path: "M11 3h2v8h4l-5 6-5-6h4zM4 19h16v2H4z" },
    click(gd) {
      // The mark at the start tells spreadsheets that this is UTF-8.
      const href = URL.createObjectURL(new Blob(["\ufeff", csv(gd)], { type: "text/csv" }));
      const link = element("a", { href, download: "table.csv" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(href), 1000);
    },
  };

  /* ---- sliders, buttons, clicks ---- */

  const call = (gd, { method, args }) => window.Plotly[method](gd, ...args);

  async function press(gd, menu, button) {
    await call(gd, gd.layout.updatemenus[menu].buttons[button]);
    await window.Plotly.relayout(gd, { [`updatemenus[${menu}].active`]: button });
  }

  /* Where layout.meta.click is set, a click on a cell does what the menu entry of the same label does. */
  function pressByClick(gd, point) {
    for (const [menu, { visible, buttons }] of (gd.layout.updatemenus ?? []).entries()) {
      const button = visible === false ? -1 : buttons.findIndex(({ label }) => label === point.text);
      if (button >= 0) return press(gd, menu, button);
    }
  }

  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  /* plotly's own controls answer to a pointer only. These do the same for a keyboard; book.css shows them in use. */
  function keyboardControls(gd) {
    const now = (container, n) => gd._fullLayout[container][n];
    const controls = element("div", { className: "keyboard" });
    const updates = []; // what keeps the controls as plotly's are now

    for (const [n, { steps, currentvalue }] of (gd._fullLayout.sliders ?? []).entries()) {
      const ariaLabel = currentvalue.prefix || "slider";
      const range = element("input", { type: "range", max: steps.length - 1, ariaLabel });
      range.oninput = async () => {
        const active = range.valueAsNumber;
        await call(gd, steps[active]);
        await window.Plotly.relayout(gd, { [`sliders[${n}].active`]: active });
      };
      updates.push(() => {
        const { active } = now("sliders", n);
        Object.assign(range, { value: active, ariaValueText: steps[active].label });
      });
      controls.append(range);
    }
    for (const [n, { type, buttons }] of (gd._fullLayout.updatemenus ?? []).entries()) {
      const labels = buttons.map(({ label }) => label);
      let menu;
      if (type === "buttons") {
        menu = element("span");
        menu.append(...labels.map((label, i) => element("button", { onclick: () => press(gd, n, i) }, label)));
      } else {
        const options = labels.map((label, value) => element("option", { value }, label));
        menu = element("select", { ariaLabel: "choose", onchange: () => press(gd, n, Number(menu.value)) }, ...options);
        updates.push(() => (menu.value = now("updatemenus", n).active));
      }
      updates.push(() => (menu.hidden = !now("updatemenus", n).visible));
      controls.append(menu);
    }
    const update = () => updates.forEach((each) => each());
    update();
    gd.on("plotly_afterplot", update);
    return controls;
  }

  /* A frame drawn while the hand lets go can leave plotly's slider "being dragged"; Play would then not move it. */
  function letSlidersGo(gd) {
    let held = false;
    gd.on("plotly_sliderstart", () => (held = true));
    gd.on("plotly_sliderend", () => (held = false));
    gd.on("plotly_afterplot", () => {
      if (!held) for (const slider of gd._fullLayout.sliders ?? []) slider._dragging = false;
    });
  }

  /* ---- before plotly ---- */

  /* 256 colours of a plotly colour scale, as a canvas stores them. */
  function palette(colorscale) {
    const context = new OffscreenCanvas(256, 1).getContext("2d");
    const gradient = context.createLinearGradient(0, 0, 256, 0);
    for (const [place, colour] of colorscale) gradient.addColorStop(place, colour);
    context.fillStyle = gradient;
    context.fillRect(0, 0, 256, 1);
    return new Uint32Array(context.getImageData(0, 0, 256, 1).data.buffer);
  }

  /* Reading plotly keeps a slow machine busy for seconds, so the figure that plays as its page opens does so without.
   * Its matrices stand below one another in one tall picture, which moves behind a window of one matrix' height. That
   * is no work for scripts, and goes on while they are busy. `figure.played` waits for the end.
   */
  async function play(figure) {
    const { data, layout, frames } = restore(JSON.parse(figure.querySelector("script").textContent));
    const [{ zmin, zmax, colorscale }] = data;
    const colours = palette(colorscale);
    const colour = (value) => colours[Math.round((255 * (Math.min(Math.max(value, zmin), zmax) - zmin)) / (zmax - zmin))];
    const size = frames[0].data[0].z.length;
    const pixels = new Uint32Array(frames.length * size * size);
    frames.forEach((frame, k) =>
      frame.data[0].z.forEach((row, i) => pixels.set(Uint32Array.from(row, colour), (k * size + i) * size)),
    );
    const matrices = element("canvas", { width: size, height: frames.length * size });
    matrices.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), size), 0, 0);
    const [{ steps, currentvalue }] = layout.sliders;
    const labels = element("div", {}, ...steps.map(({ label }) => element("div", {}, label)));
    figure.append(
      element(
        "div",
        { className: "preview", ariaHidden: "true" },
        element("div", { className: "title" }, layout.title.text),
        element("div", { className: "place" }, element("div", { className: "window" }, matrices)),
        element("div", { className: "label" }, currentvalue.prefix, element("div", {}, labels)),
      ),
    );
    const last = frames.length - 1;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches; // then its end is shown at once
    const moves = [matrices, labels].map((moved) =>
      moved.animate(
        { transform: ["translateY(0)", `translateY(${(-100 * last) / frames.length}%)`] },
        { duration: still ? 0 : 250 * last, easing: `steps(${last})`, fill: "forwards" },
      ),
    );
    figure.played = Promise.all(moves.map((move) => move.finished));
    window.addEventListener("pointerdown", () => moves.forEach((move) => move.finish()), { once: true });
    await Promise.all(moves.map((move) => move.ready));
  }

  /* ---- drawing ---- */

  let library;
  function loadPlotly() {
    library ??= new Promise((resolve, reject) => {
      const src = new URL(loader.dataset.plotly, loader.src);
      const onerror = () => reject(new Error(`cannot load ${src}`));
      document.head.append(element("script", { src, onload: resolve, onerror }));
    });
    return library;
  }

  function plot(figure) {
    const { data, layout = {}, frames = [] } = restore(JSON.parse(figure.querySelector("script").textContent));
    const meta = layout.meta;
    if (narrow.matches) for (const [path, value] of Object.entries(meta.narrow ?? {})) set(layout, path, value);
    const gd = element("div");
    gd.bookTemplate = layout.template;
    layout.template = themed(gd.bookTemplate);
    if (layout.width) gd.style.maxWidth = `${layout.width}px`; // narrower where the page is
    delete layout.width;
    const config = {
      responsive: true,
      displaylogo: false,
      showSendToCloud: false, // it would upload the figure to another host
      modeBarButtonsToAdd: [downloadButton],
      modeBarButtonsToRemove: ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
    };
    for (const old of figure.querySelectorAll(".js-plotly-plot")) window.Plotly.purge(old);
    figure.replaceChildren(...figure.querySelectorAll("script, noscript"));
    figure.append(gd);
    const done = window.Plotly.newPlot(gd, { data, layout, frames, config });
    letSlidersGo(gd);
    figure.append(keyboardControls(gd));
    // The figure's label says what is to be seen; hundreds of bare numbers would only bury it.
    for (const svg of gd.querySelectorAll(".main-svg")) svg.ariaHidden = "true";
    if (meta.click) gd.on("plotly_click", ({ points }) => pressByClick(gd, points[0]));
    return done;
  }

  async function draw(figure) {
    if (figure.dataset.state) return;
    figure.dataset.state = "drawing";
    try {
      // When printing begins there is no time to wait: with the library at hand, drawing must not be put off.
      if (!window.Plotly) await loadPlotly();
      await figure.played;
      await plot(figure);
      figure.dataset.state = "drawn";
    } catch (error) {
      figure.dataset.state = "failed";
      figure.insertAdjacentHTML("beforeend", '<p class="failed" role="alert">This figure could not be drawn.</p>');
      console.error("figure not drawn:", figure.getAttribute("aria-label"), error);
    }
  }

  async function startFigures() {
    await Promise.allSettled([...figures].filter((figure) => "plays" in figure.dataset).map(play));
    loadPlotly().catch(() => {}); // draw() reports it
    const near = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
      { rootMargin: "600px" },
    );
    for (const figure of figures) near.observe(figure);

    new MutationObserver(() => {
      for (const gd of drawn()) window.Plotly.relayout(gd, { template: themed(gd.bookTemplate) });
    }).observe(document.documentElement, { attributeFilter: ["data-theme"] });

    narrow.addEventListener("change", () => {
      for (const gd of drawn()) plot(gd.parentElement);
    });
    // plotly follows the window's size alone; a sidebar that folds away changes the figure's without it.
    const sizes = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const gd = target.querySelector(".js-plotly-plot");
        if (gd?._fullLayout && Math.abs(gd.clientWidth - gd._fullLayout.width) > 1) window.Plotly.Plots.resize(gd);
      }
    });
    for (const figure of figures) sizes.observe(figure);
    // plotly hears a released button only over the figure itself.
    window.addEventListener("mouseup", (event) => {
      for (const gd of drawn()) if (!gd.contains(event.target)) gd.dispatchEvent(new MouseEvent("mouseup"));
    });
    // Pause makes plotly break the promise behind Play, with no reason given and nobody to hear it.
    window.addEventListener("unhandledrejection", (event) => {
      if (event.reason === undefined) event.preventDefault();
    });
    window.addEventListener("beforeprint", () => {
      for (const figure of figures) draw(figure);
    });
  }

  /* ---- what is wider than a phone ---- */

  /* Formulas, tables and code then scroll by themselves. book.css fades the edge beyond which they go on; the theme lets
   * the keyboard scroll all but formulas.
   */
  async function letWideThingsScroll() {
    await window.MathJax?.startup?.promise;
    const update = ({ target }) => {
      const { scrollLeft, clientWidth, scrollWidth } = target;
      target.classList.toggle("goes-on", scrollLeft + clientWidth < scrollWidth - 1);
      if (target.matches("mjx-container")) target.tabIndex = scrollWidth > clientWidth ? 0 : -1;
    };
    const sizes = new ResizeObserver((entries) => entries.forEach(update));
    const wide = "div.math mjx-container, .highlight pre, .cell_output .text_html, .pst-scrollable-table-container";
    for (const box of document.querySelectorAll(wide)) {
      box.addEventListener("scroll", update, { passive: true });
      sizes.observe(box);
    }
  }

  if (figures.length) startFigures(); // the script is deferred: the page is there
  window.addEventListener("load", letWideThingsScroll);
})();

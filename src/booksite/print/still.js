/* After collect.js's document is loaded: formulas set, every figure a still picture, nothing wider than the paper. */
async () => {
  await MathJax.startup.promise;
  for (const figure of document.querySelectorAll(".book-figure")) {
    figure.scrollIntoView(); // book.js draws what comes near
    while (!/drawn|failed/.test(figure.dataset.state)) await new Promise((resolve) => setTimeout(resolve, 10));
    const gd = figure.querySelector(".js-plotly-plot");
    if (!gd) throw new Error(`not drawn: ${figure.getAttribute("aria-label")}`);
    for (const [n, { buttons }] of (gd.layout.updatemenus ?? []).entries()) {
      if (buttons[0].method === "animate") await Plotly.relayout(gd, `updatemenus[${n}].visible`, false); // Play
    }
    const { width, height } = gd._fullLayout;
    const picture = new Image(width, height);
    picture.alt = figure.getAttribute("aria-label");
    picture.src = await Plotly.toImage(gd, { format: "svg", width, height });
    await picture.decode();
    Plotly.purge(gd); // a book's worth of live figures would not fit into memory
    figure.replaceChildren(picture);
  }
  for (const wide of document.querySelectorAll("div.math mjx-container, table")) {
    const room = wide.closest("article, nav").clientWidth;
    if (wide.scrollWidth > room) wide.style.zoom = (0.98 * room) / wide.scrollWidth;
  }
};

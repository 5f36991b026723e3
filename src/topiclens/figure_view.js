/* An anywidget that draws a plotly figure which Python changes. Knows no model.
 *
 * plotly.js comes from the installed package, through the kernel, when the first figure is drawn: no other host is
 * asked, and a notebook that is only built, never looked at, does not carry it.
 */
let library;

function loadPlotly(model) {
  library ??= new Promise((resolve) => {
    model.on("msg:custom", (message, [bytes]) => {
      if (message.type !== "plotly") return;
      const module = { exports: {} };
      new Function("module", "exports", "define", new TextDecoder().decode(bytes))(module, module.exports, undefined);
      resolve(module.exports);
    });
    model.send({ type: "plotly" });
  });
  return library;
}

async function render({ model, el }) {
  const place = document.createElement("div");
  place.setAttribute("role", "figure");
  el.append(place);
  model.send({ type: "ready" });
  const Plotly = await loadPlotly(model);
  async function draw() {
    if (!model.get("figure")) return;
    const { data, layout, frames } = JSON.parse(model.get("figure"));
    place.setAttribute("aria-label", layout.meta?.alt ?? "figure");
    await Plotly.newPlot(place, { data, layout, frames, config: { displaylogo: false, responsive: true } });
  }
  model.on("change:figure", draw);
  await draw();
  return () => Plotly.purge(place);
}

export default { render };

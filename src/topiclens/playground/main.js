/* What the script does where it is loaded: in a page of the site, or as an anywidget in a notebook. */
import { Playground } from "./playground.js";

/** Start a playground in every place that the site's page keeps for one. */
export function mountInPage() {
  for (const root of document.querySelectorAll(".tl-place")) new Playground(root, { fragment: true });
}

/** anywidget's entry: settings come from Python, matrices go back whenever training stands still. */
export function render({ model, el }) {
  const root = document.createElement("div");
  el.append(root);
  const report = ({ step, matrices, views }, settings) => {
    model.set("_state", { step, settings, matrices: withViews(matrices), means: views.means });
    model.save_changes();
  };
  const playground = new Playground(root, { start: model.get("_settings"), report });
  return () => playground.stop();
}

/* As the notebook's messages carry them: bytes apart from JSON. */
function withViews(matrices) {
  return Object.fromEntries(
    Object.entries(matrices).map(([name, { rows, cols, data }]) => {
      return [name, { rows, cols, data: new DataView(data.buffer, data.byteOffset, data.byteLength) }];
    }),
  );
}

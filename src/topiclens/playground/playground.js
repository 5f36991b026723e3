/* The playground's page: presets, controls, live pictures of what a worker trains. The same code serves the site and,
 * as an anywidget, notebooks. `topiclens.playground` puts all modules into one script, named `topiclensPlayground`.
 */
import { defaultSettings, documentsKept, presets } from "./trainer.js";
import { theoryLines } from "./theory.js";
import { CLAIMS } from "./claims.js";
import { Chart } from "./chart.js";
import { Controls, MOST_STEPS, faultOf } from "./controls.js";
import { Recorder, Rows, Series } from "./history.js";
import { Picture, colourLimit, scaleGradient } from "./picture.js";
import { fromFragment, toFragment } from "./link.js";
import { idInWords, numberInWords } from "./words.js";
import { isMilestone } from "./worker.js";

const DEFAULT_PRESET = "claim4";
const ANNOUNCE = 4000; // milliseconds between two announcements of a running training
const SETTINGS_LINK = "#all-settings"; // in the page's text
const DOCUMENT_COLUMNS = 16; // words in a line
const RELATIONS = { sameWord: "same word", sameTopic: "same topic", differentTopic: "different topic" };

// `means` names the matrix whose block means are told and drawn beside the view.
const VIEWS = {
  gram: { name: "Embeddings", title: "Inner products of word embeddings", rows: "word", columns: "word", means: "gram" },
  values: { name: "Values", title: "What a key adds to each output", rows: "output", columns: "key", means: "values" },
  scores: { name: "Attention", title: "Attention scores", rows: "query", columns: "key", means: "scores" },
  document: { name: "A document", title: "Attention in one document", means: "scores" },
  favourites: { name: "Favourite keys", title: "Each query's favourite key", rows: "query", columns: "key", means: "scores" },
};

let instances = 0;

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/** A worker that runs this very script: a page opened as a file could load no other. */
function startWorker() {
  const source = `(${topiclensPlayground})().serveTraining(self);`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(address);
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  return worker;
}

function mostFrequent(ids) {
  const counts = new Map();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts].sort(([, m], [, n]) => n - m)[0]?.[0];
}

function save(name, blob) {
  const href = URL.createObjectURL(blob);
  element("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

/** One playground in the element `root`.
 *
 * Options:
 *   fragment: whether settings are read from the page's address and written to it.
 *   start: a preset and what differs from its settings, for a start from Python.
 *   report: called with each snapshot at which training stands still, and its settings.
 */
export class Playground {
  constructor(root, { fragment = false, start = {}, report = () => {} }) {
    Object.assign(this, { root, fragment, report, prefix: `tl${++instances}` });
    this.view = null;
    this.freeScale = false;
    this.document = 0;
    this.query = null;
    this.build();
    if (fragment) this.openLink();
    else {
      const { preset, ...settings } = start;
      this.begin(preset, { ...this.presetSettings(preset), ...settings });
    }
    const theme = new MutationObserver(() => this.picture.draw());
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const onLink = () => this.openLink();
    if (fragment) window.addEventListener("hashchange", onLink);
    this.stopListening = () => {
      theme.disconnect();
      window.removeEventListener("hashchange", onLink);
    };
  }

  stop() {
    this.worker?.terminate();
    this.picture.stop();
    this.stopListening();
  }

  /* ---- the page's parts ---- */

  build() {
    const button = (label, onclick, title = "") => element("button", { type: "button", title, onclick }, label);
    this.presetButtons = Object.fromEntries(
      Object.entries(CLAIMS).map(([name, { button: label, title }]) => [name, button(label, () => this.press(name), title)]),
    );
    this.viewButtons = Object.fromEntries(
      Object.entries(VIEWS).map(([view, { name }]) => [view, button(name, () => this.look(view))]),
    );
    this.claim = element("p", { className: "tl-claim" });
    this.verdict = element("p", { className: "tl-verdict" });
    this.runButton = button("▶ Run", () => this.toggle());
    this.runButton.className = "tl-run";
    this.status = element("p", { className: "tl-status" });
    this.announcer = element("p", { className: "tl-unseen", role: "status", "aria-live": "polite" });
    this.alert = element("p", { className: "tl-alert", role: "alert", hidden: true });
    this.slider = element("input", { type: "range", min: 0, max: 0, value: 0, id: `${this.prefix}-slider` });
    this.slider.oninput = () => this.lookBack(this.slider.valueAsNumber);
    this.heading = element("p", { className: "tl-title" });
    this.canvas = element("canvas", {});
    this.readout = element("output", { className: "tl-readout" });
    this.readout.dataset.hint = "Point at a cell, or go there with the arrow keys.";
    this.means = element("p", { className: "tl-means" });
    this.scale = element("div", { className: "tl-scale" });
    this.scaleButton = button("Free colour scale", () => {
      this.freeScale = !this.freeScale;
      this.draw();
    }, "Fit the colours to what is shown now, instead of keeping them for the whole run");
    this.querySelect = element("select", { id: `${this.prefix}-query` });
    this.querySelect.onchange = () => this.choose(Number(this.querySelect.value));
    this.documentButton = button("Another document", () => {
      this.document = (this.document + 1) % documentsKept;
      this.query = null;
      this.snapshotIndex = null;
      this.worker?.postMessage({ type: "look", document: this.document });
    });
    this.documentTools = element("p", { className: "tl-tools" },
      element("label", { htmlFor: this.querySelect.id }, "Query: "), this.querySelect, " ", this.documentButton);
    this.picture = new Picture(this.canvas, this.readout);
    this.charts = { loss: new Chart("Loss"), means: new Chart("Means"), norms: new Chart("Norms of the matrices") };
    this.controls = new Controls(element, this.prefix, (settings) => this.change(settings));
    this.linkBox = element("input", { type: "text", readOnly: true, hidden: true, "aria-label": "Link to this experiment" });

    const group = (label, className, ...children) => element("div", { role: "group", "aria-label": label, className }, ...children);
    const actions = [
      this.runButton,
      (this.stepButton = button("One step", () => this.train(this.latest.step + 1), "One more step after the latest one")),
      button("Reset", () => this.begin(this.preset, this.settings)),
    ];
    const exports = [
      (this.linkButton = button("Copy link", () => this.copyLink())),
      button("Matrices (CSV)", () => this.saveTable()),
      button("Picture (PNG)", () => this.savePicture()),
    ];
    if (!this.fragment) exports.shift(); // a notebook has no address to link to
    this.root.replaceChildren(
      group("Presets", "tl-presets", ...Object.values(this.presetButtons)),
      element("div", { className: "tl-said" }, this.claim, this.verdict),
      group("Training", "tl-actions", ...actions, this.status),
      this.alert,
      this.announcer,
      element("div", { className: "tl-back" }, element("label", { htmlFor: this.slider.id }, "Look back"), this.slider),
      group("Views", "tl-views", ...Object.values(this.viewButtons)),
      element("div", { className: "tl-main" },
        element("div", { className: "tl-view" },
          this.heading, this.means, this.documentTools, this.canvas, this.readout,
          element("div", { className: "tl-legend" }, this.scale, this.scaleButton)),
        element("div", { className: "tl-charts" }, ...Object.values(this.charts).map((chart) => chart.element))),
      group("Take away", "tl-exports", ...exports),
      this.linkBox,
      (this.details = element("details", {}, element("summary", {}, "All settings"), this.controls.element)),
    );
    this.root.classList.add("tl-playground");
    if (this.fragment) this.details.id = SETTINGS_LINK.slice(1);
    this.details.open = this.root.clientWidth > 600;
  }

  /* ---- settings ---- */

  presetSettings(preset) {
    const { until } = CLAIMS[preset ?? DEFAULT_PRESET];
    return { ...defaultSettings, ...presets[preset ?? DEFAULT_PRESET].settings, until };
  }

  /* A preset's button trains at once; pressed again, it starts anew. */
  press(preset) {
    this.view = null;
    this.begin(preset, this.presetSettings(preset));
    this.toggle();
  }

  /* Settings that make sense start a new run, which goes on if one was running. */
  change(settings) {
    const running = this.running;
    this.begin(this.preset, settings);
    if (running && !this.fault) this.toggle();
  }

  openLink() {
    if (location.hash === SETTINGS_LINK) {
      this.details.open = true;
      this.details.scrollIntoView();
    }
    if (this.opened && !location.hash.includes("=")) return; // a heading of the page
    const { rest } = fromFragment(location.hash, {});
    const preset = Object.hasOwn(CLAIMS, rest.preset ?? "") ? rest.preset : DEFAULT_PRESET;
    const base = this.presetSettings(preset);
    const { settings } = fromFragment(location.hash, base);
    this.view = Object.hasOwn(VIEWS, rest.view ?? "") ? rest.view : null;
    const [document, query, step] = ["document", "query", "step"].map((name) => Number(rest[name] ?? 0));
    if (faultOf({ ...base, ...settings })) this.begin(preset, base); // so that there is something to see
    this.begin(preset, { ...base, ...settings }, document >= 0 && document < documentsKept ? Math.floor(document) : 0);
    if (rest.query) this.query = query;
    if (!this.fault && Number.isInteger(step) && step > 0 && step <= MOST_STEPS) this.train(step);
  }

  link() {
    const extra = { preset: this.preset, view: this.view };
    if (this.shown?.step) extra.step = this.shown.step;
    if (this.view === "document" && this.shown) Object.assign(extra, { document: this.shown.document, query: this.query });
    const { href } = location;
    return `${href.replace(/#.*/, "")}#${toFragment(this.settings, this.presetSettings(this.preset), extra)}`;
  }

  async copyLink() {
    const address = this.link();
    history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(address);
      this.announce("Link copied.", true);
    } catch { // a page opened as a file may not
      this.linkBox.hidden = false;
      this.linkBox.value = address;
      this.linkBox.select();
      this.announce("This is the link; copy it from the field.", true);
    }
  }

  /* ---- training ---- */

  /** A new run at step 0, or a sentence beside the setting that makes none; what there was then stays to look at. */
  begin(preset, settings, document = 0) {
    this.settings = settings;
    this.fault = faultOf(settings);
    this.controls.show(settings, this.fault);
    this.runButton.disabled = this.stepButton.disabled = this.fault !== null;
    this.alert.hidden = this.linkBox.hidden = true;
    this.preset = preset ?? DEFAULT_PRESET;
    this.view ??= CLAIMS[this.preset].view;
    if (this.fault) {
      this.worker?.postMessage({ type: "pause" });
      this.details.open = true;
      this.warn(`These settings make no run. ${this.fault.message}`);
      return;
    }
    this.worker?.terminate();
    this.worker = null;
    const { until, ...training } = settings;
    Object.assign(this, {
      training, until, document, running: false, latest: null, shown: null, snapshotIndex: null, query: null,
      divergedAt: null, limits: {}, frames: 1, drawnAt: -Infinity, losses: new Series(), rows: new Rows(), recorder: new Recorder(),
    });
    for (const [name, made] of Object.entries(this.presetButtons)) made.setAttribute("aria-pressed", name === this.preset);
    const { statement } = CLAIMS[this.preset];
    this.changed = toFragment(settings, this.presetSettings(this.preset), {}) !== "";
    this.claim.textContent = this.changed ? `With this preset's own settings: ${statement} You have changed them.` : statement;
    this.showRunning();
    this.theory = theoryLines(training);
    this.tellVerdict();
    try {
      this.worker = startWorker();
    } catch (error) {
      this.warn(`This browser starts no worker, in which training would run (${error.message}).`);
      return;
    }
    const worker = this.worker;
    worker.onmessage = ({ data }) => worker === this.worker && this.hear(data);
    worker.onerror = (event) => this.warn(`Training failed: ${event.message}`);
    worker.postMessage({ type: "start", settings: training, document: this.document });
    if (this.fragment) this.writeAddress();
  }

  writeAddress() {
    const fragment = toFragment(this.settings, this.presetSettings(this.preset), { preset: this.preset });
    if (this.opened) history.replaceState(null, "", `#${fragment}`);
    this.opened = true; // the address with which the page was opened stays
  }

  toggle() {
    if (this.running) this.worker.postMessage({ type: "pause" });
    else if (this.latest && this.latest.step >= this.until) this.train((this.until += CLAIMS[this.preset].until));
    else this.train(this.until);
  }

  train(until) {
    if (!this.worker) return;
    this.running = true;
    this.snapshotIndex = null;
    this.interval = window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 100;
    this.worker.postMessage({ type: "run", until, interval: this.interval });
    this.showRunning();
  }

  hear(message) {
    if (message.type !== "snapshot") {
      this.running = false;
      this.showRunning();
      const advice = message.type === "stopped" ? { field: "lr", message: message.message } : null;
      this.controls.show(this.settings, advice);
      if (advice) this.divergedAt = message.step;
      this.tellVerdict();
      this.warn(message.message);
      return;
    }
    for (const loss of message.losses) this.losses.add(loss);
    const { step, views } = message;
    if (this.latest?.step !== step) {
      this.rows.add({ step, means: views.means, norms: views.norms });
      if (isMilestone(step)) this.recorder.add(message);
    } else if (this.recorder.snapshots.at(-1)?.step === step) {
      this.recorder.snapshots.splice(-1, 1, message); // another document of the same step
    }
    this.latest = message;
    const stopped = this.running && !message.running;
    // The first snapshot is of step 0 and does not say that training, asked for since, has stopped.
    if (step > 0 || !this.running) this.running = message.running;
    if (stopped && !this.running) this.showRunning();
    // Milestones may come faster than pictures should follow each other.
    if (this.running && performance.now() - this.drawnAt < this.interval) this.worker.postMessage({ type: "seen" });
    else this.drawing ??= requestAnimationFrame(() => this.drawLatest());
    if (!this.running) this.report(message, this.training);
  }

  drawLatest() {
    this.drawing = null;
    this.drawnAt = performance.now();
    this.draw();
    this.worker?.postMessage({ type: "seen" });
  }

  showRunning() {
    this.runButton.textContent = this.running ? "❚❚ Pause" : "▶ Run";
    this.root.dataset.running = this.running;
    this.readout.setAttribute("aria-live", this.running ? "off" : "polite"); // it would never stop talking
  }

  /* ---- looking ---- */

  look(view) {
    this.view = view;
    this.draw();
  }

  lookBack(index) {
    const positions = this.positions();
    this.snapshotIndex = index >= positions.length - 1 ? null : index;
    this.draw();
  }

  /** Snapshots that the slider goes through: the recorded ones and the latest. */
  positions() {
    const { snapshots } = this.recorder;
    return snapshots.at(-1) === this.latest ? snapshots : [...snapshots, this.latest];
  }

  choose(query) {
    this.query = query;
    this.draw();
  }

  draw() {
    if (!this.latest) return;
    const positions = this.positions();
    this.shown = this.snapshotIndex === null ? this.latest : positions[Math.min(this.snapshotIndex, positions.length - 1)];
    const { step } = this.shown;
    this.slider.max = positions.length - 1;
    this.slider.value = this.snapshotIndex ?? positions.length - 1;
    this.slider.setAttribute("aria-valuetext", `step ${step}`);
    for (const [name, made] of Object.entries(this.viewButtons)) made.setAttribute("aria-pressed", name === this.view);
    this.scaleButton.setAttribute("aria-pressed", this.freeScale);
    this.documentTools.hidden = this.view !== "document";
    this.scaleButton.hidden = this.view in this.latest.views === false; // the others have a scale of their own
    this.root.dataset.step = step;
    this.drawPicture();
    // Curves change little from one picture to the next, and are most of the work.
    if (!this.running || !(++this.frames % 3)) this.drawCharts();
    this.tellVerdict();
    this.say(this.sentence());
  }

  drawPicture() {
    const grid = { document: () => this.documentGrid(), favourites: () => this.favouriteGrid() }[this.view]?.() ?? this.matrixGrid();
    const { title, rows, columns } = VIEWS[this.view];
    const axes = rows && rows !== columns ? ` (rows: ${rows}, columns: ${columns})` : "";
    this.heading.textContent = `${title}${axes}`;
    this.means.textContent = grid.note;
    this.picture.show({ ...grid, summary: `${title}${axes}, step ${this.shown.step}. ${grid.note}` });
    const low = grid.signed ? `−${grid.limit}` : "0";
    const key = `${low} to ${grid.limit}`;
    if (this.scale.dataset.key !== key) {
      this.scale.dataset.key = key;
      const bar = element("span", { className: "tl-bar", "aria-hidden": "true" });
      bar.style.background = scaleGradient(grid.signed);
      this.scale.replaceChildren(element("span", {}, `${low}`), bar, element("span", {}, `${grid.limit}`));
    }
  }

  starts() {
    const { numTopics, wordsPerTopic } = this.training;
    return Array.from({ length: numTopics }, (_, topic) => topic * wordsPerTopic);
  }

  /* The fixed scale holds all that the run has shown in this view so far, so that growth is seen on looking back. */
  limitOf(data) {
    const own = colourLimit(data);
    this.limits[this.view] = Math.max(this.limits[this.view] ?? 0, colourLimit(this.latest.views[this.view] ?? data), own);
    return this.freeScale ? own : this.limits[this.view];
  }

  matrixGrid() {
    const data = this.shown.views[this.view];
    const size = Math.sqrt(data.length);
    const { rows, columns } = VIEWS[this.view];
    const name = (index) => idInWords(index + 1, this.training.wordsPerTopic);
    return {
      rows: size, columns: size, data, signed: true, limit: this.limitOf(data), starts: this.starts(),
      note: this.meansInWords(this.view),
      describe: (i) => `${rows} ${name(Math.floor(i / size))}, ${columns} ${name(i % size)}: ${numberInWords(data[i])}`
        .replaceAll("word word", "word"),
    };
  }

  meansInWords(matrix) {
    const means = this.shown.views.means[matrix];
    const parts = Object.entries(RELATIONS).filter(([key]) => Number.isFinite(means[key]));
    return `Means: ${parts.map(([key, name]) => `${name} ${numberInWords(means[key])}`).join(" · ")}`;
  }

  documentGrid() {
    const { shown, words, selected, weights, length: N } = this.shown.attention;
    const { wordsPerTopic } = this.training;
    const ids = [...new Set(shown)].sort((a, b) => a - b);
    if (!ids.includes(this.query)) this.query = mostFrequent(shown.filter((id) => id > 0)) ?? ids[0];
    const choices = ids.join();
    if (this.querySelect.dataset.choices !== choices) {
      this.querySelect.dataset.choices = choices;
      this.querySelect.replaceChildren(...ids.map((value) => element("option", { value }, idInWords(value, wordsPerTopic))));
    }
    this.querySelect.value = this.query;
    const row = shown.indexOf(this.query);
    const lines = Math.ceil(N / DOCUMENT_COLUMNS);
    const data = new Float32Array(lines * DOCUMENT_COLUMNS).fill(NaN);
    const topic = (id) => (id === 0 ? -1 : Math.floor((id - 1) / wordsPerTopic));
    const sums = { "the same word": 0, "its topic": 0, "other topics": 0, "[MASK]": 0 };
    for (let n = 0; n < N; n++) {
      data[n] = weights[row * N + n];
      const kind = shown[n] === 0 ? "[MASK]" : shown[n] === this.query ? "the same word"
        : topic(shown[n]) === topic(this.query) ? "its topic" : "other topics";
      sums[kind] += data[n];
    }
    const parts = Object.entries(sums).map(([kind, sum]) => `${kind} ${Math.round(100 * sum)} %`);
    return {
      rows: lines, columns: DOCUMENT_COLUMNS, data, signed: false, limit: colourLimit(data.slice(0, N)), starts: null,
      text: (i) => (i < N ? (shown[i] === 0 ? "?" : String(shown[i])) : ""),
      note: `Attention of ${idInWords(this.query, wordsPerTopic)} to: ${parts.join(" · ")}`,
      describe: (i) => `position ${i + 1}: ${idInWords(shown[i], wordsPerTopic)}`
        + (selected[i] ? `, selected, hides ${idInWords(words[i], wordsPerTopic)}` : "")
        + `: attention ${numberInWords(data[i])}`,
      choose: (i) => i < N && this.choose(shown[i]),
    };
  }

  favouriteGrid() {
    const { carriers } = this.shown;
    const { wordsPerTopic } = this.training;
    const size = carriers.length;
    const data = new Float32Array(size * size);
    for (const { query, favourite, share } of carriers) data[(query - 1) * size + favourite - 1] = share;
    const name = (id) => idInWords(id, wordsPerTopic);
    const others = carriers.filter(({ query, favourite }) => favourite !== query).length;
    const distinct = new Set(carriers.map(({ favourite }) => favourite)).size;
    const middle = carriers.map(({ share }) => share).sort((x, y) => x - y)[Math.floor(size / 2)];
    return {
      rows: size, columns: size, data, signed: false, limit: 1, starts: this.starts(),
      note: `For ${others} of ${size} words the favourite is another word; ${distinct} different favourites, `
        + `with ${Math.round(100 * middle)} % of a word's attention (median)`,
      describe: (i) => {
        const { query, favourite, share, output } = carriers[Math.floor(i / size)];
        return `query ${name(query)}: favourite key ${name(favourite)} with ${Math.round(100 * share)} % of its attention; `
          + `largest output ${name(output)}`;
      },
    };
  }

  drawCharts() {
    const { rows } = this.rows;
    const steps = rows.map(({ step }) => step);
    const end = this.latest.step;
    const mark = this.snapshotIndex === null ? null : this.shown.step;
    const matrix = VIEWS[this.view].means;
    const { bayesLoss, optimumLoss, ratio } = this.theory;
    const levels = (lines) => lines.filter(({ level }) => Number.isFinite(level));
    this.charts.loss.show([
      { name: "training", style: 0, steps: this.losses.steps, values: this.losses.values },
      ...levels([
        { name: this.training.attention === "uniform" ? "best without a query's word" : "best possible", level: bayesLoss, style: 1 },
        { name: "theory's optimum for this layer", level: optimumLoss, style: 2 },
      ]),
    ], end, mark);
    const relations = Object.entries(RELATIONS).filter(([key]) => Number.isFinite(rows[0].means[matrix][key]));
    const theory = levels([
      ...relations.map(([key, name], style) => ({ name: `theory: ${name}`, level: this.theory[matrix]?.[key], style })),
      ...(matrix === "scores" ? [{ name: "theory: log of the best ratio", level: Math.log(ratio ?? NaN), style: 3 }] : []),
    ]);
    this.charts.means.setTitle(`Block means, ${VIEWS[matrix].name.toLowerCase()}${theory.length ? " (level lines: theory)" : ""}`);
    this.charts.means.show([
      ...relations.map(([key, name], style) => ({ name, style, steps, values: rows.map((row) => row.means[matrix][key]) })),
      ...(matrix === "scores" ? [this.gapCurve(steps)] : []),
      ...theory,
    ], end, mark);
    this.charts.norms.show(
      Object.keys(rows[0].norms).map((name, style) => ({ name, style, steps, values: rows.map((row) => row.norms[name]) })),
      end, mark);
  }

  gapCurve(steps) {
    const values = this.rows.rows.map(({ means }) => means.scores.sameTopic - means.scores.differentTopic);
    return { name: "same − different topic", style: 3, steps, values };
  }

  /* ---- words ---- */

  sentence() {
    const { step, views } = this.shown;
    const { sameTopic, differentTopic } = views.means[VIEWS[this.view].means];
    const loss = this.losses.values.length && this.shown === this.latest
      ? `; loss ${numberInWords(this.losses.values.at(-1))}` : "";
    return `Step ${step.toLocaleString("en")}: same-topic mean ${numberInWords(sameTopic)}, `
      + `different-topic ${numberInWords(differentTopic)}${loss}.`;
  }

  /* Of the step that is shown. */
  tellVerdict() {
    const verdict = this.verdictInWords();
    this.verdict.textContent = verdict.words;
    this.root.dataset.holds = verdict.holds === true;
  }

  verdictInWords() {
    const step = this.shown?.step ?? 0;
    if (this.divergedAt !== null) return { words: `No verdict: training diverged at step ${this.divergedAt}.` };
    if (step === 0) return { words: this.latest?.step ? "No verdict at step 0: nothing is trained there." : "Nothing is trained yet." };
    const { verdict, byTheory } = CLAIMS[this.preset];
    const rows = this.rows.rows.filter((row) => row.step <= step);
    const { holds, words } = verdict({ rows, shown: this.shown, theory: this.theory });
    // With other settings theory may say that the claim's own sentence is false; then its value for these is the test.
    const yes = !this.changed ? "✓ Holds" : byTheory ? "✓ As theory says for these settings" : "✓ Seen with these settings, too";
    const head = holds === null ? "No verdict" : holds ? yes : "Not yet";
    return { holds, words: `${head} at step ${step.toLocaleString("en")}: ${words}.` };
  }

  /* Shown at once; read aloud when training stands still, and now and then while it runs. */
  say(sentence) {
    this.status.textContent = sentence;
    this.announce(sentence, !this.running);
  }

  announce(sentence, now) {
    if (!now && performance.now() - (this.announcedAt ?? 0) < ANNOUNCE) return;
    this.announcedAt = performance.now();
    if (this.announcer.textContent !== sentence) this.announcer.textContent = sentence;
  }

  warn(sentence) {
    this.alert.hidden = false;
    this.alert.textContent = sentence;
  }

  /* ---- taking away ---- */

  saveTable() {
    if (!this.shown) return;
    const blocks = [`settings,"${JSON.stringify(this.training).replaceAll('"', '""')}"\r\nstep,${this.shown.step}\r\n`];
    for (const [name, { rows, cols, data }] of Object.entries(this.shown.matrices)) {
      const lines = Array.from({ length: rows }, (_, i) => Array.from(data.subarray(i * cols, (i + 1) * cols)).join(","));
      blocks.push(`${name},${rows},${cols}\r\n${lines.join("\r\n")}\r\n`);
    }
    save(`matrices-step-${this.shown.step}.csv`, new Blob(blocks.map((b) => b + "\r\n"), { type: "text/csv" }));
  }

  savePicture() {
    if (!this.shown) return;
    const size = 800, head = 70;
    const height = Math.round((size * this.canvas.clientHeight) / this.canvas.clientWidth);
    const canvas = element("canvas", { width: size, height: height + head });
    const context = canvas.getContext("2d");
    const { backgroundColor, color, fontFamily } = getComputedStyle(this.root);
    context.fillStyle = backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = color;
    context.font = `bold 18px ${fontFamily}`;
    context.fillText(`${this.heading.textContent}, step ${this.shown.step}`, 10, 26, size - 20);
    context.font = `14px ${fontFamily}`;
    context.fillText(`${this.means.textContent}. Colours ${this.scale.dataset.key}`, 10, 50, size - 20);
    context.translate(0, head);
    this.picture.drawOn(context, size, height);
    canvas.toBlob((blob) => save(`${this.view}-step-${this.shown.step}.png`, blob));
  }
}

/* A small line chart as SVG. Lines are told apart by their dash and their name, and by colour too. Knows no model. */
import { numberInWords } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 340, HEIGHT = 170; // the chart's own units; it scales to its place
const LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 24;

function svg(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** Round numbers from `low` to `high`: as few as possible, but three at least. */
export function ticks(low, high) {
  const unit = 10 ** Math.floor(Math.log10(high - low));
  const step = [1, 0.5, 0.2, 0.1].map((m) => m * unit).find((s) => Math.floor(high / s + 1e-9) - Math.ceil(low / s - 1e-9) >= 2);
  const first = Math.ceil(low / step - 1e-9);
  const number = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: number }, (_, i) => Number(((first + i) * step).toPrecision(10)));
}

const tickInWords = (value) => (Math.abs(value) >= 1e5 ? value.toExponential().replace("e+", "e") : String(value)).replace("-", "−");

/** A figure with a caption, a chart and a legend. */
export class Chart {
  constructor(title) {
    this.title = title;
    this.element = document.createElement("figure");
    this.caption = document.createElement("figcaption");
    this.caption.textContent = title;
    this.svg = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    this.legend = document.createElement("ul");
    this.element.append(this.caption, this.svg, this.legend);
    this.element.className = "tl-chart";
  }

  /** Draw.
   *
   * Args:
   *   lines: [{name, style, steps, values}], style a number for colour and dash; a line with `level` instead of steps
   *     and values is level, thin, and stands for what theory says.
   *   end: the last step.
   *   mark: the step that is shown above.
   */
  show(lines, end, mark) {
    const values = lines.flatMap(({ level, values }) => (values ? values.filter(Number.isFinite) : [level]));
    let low = Math.min(...values), high = Math.max(...values);
    if (!values.length) [low, high] = [0, 1];
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    [low, high] = [low - room, high + room];
    const last = Math.max(end, 1);
    const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - RIGHT);
    const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);

    const parts = [];
    for (const value of ticks(low, high)) {
      parts.push(svg("line", { class: "tl-grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }));
      const label = svg("text", { x: LEFT - 5, y: y(value), class: "tl-y" });
      label.textContent = tickInWords(value);
      parts.push(label);
    }
    for (const step of ticks(0, last).filter(Number.isInteger)) {
      const label = svg("text", { x: Math.min(x(step), WIDTH - 14), y: HEIGHT - 7, class: "tl-x" });
      label.textContent = step.toLocaleString("en");
      parts.push(label);
    }
    if (mark !== null) parts.push(svg("line", { class: "tl-mark", x1: x(mark), x2: x(mark), y1: TOP, y2: HEIGHT - BOTTOM }));
    for (const { style, steps, values: heights, level } of lines) {
      const points = heights
        ? steps.map((step, i) => (Number.isFinite(heights[i]) ? `${x(step).toFixed(1)},${y(heights[i]).toFixed(1)}` : ""))
        : [`${LEFT},${y(level)}`, `${WIDTH - RIGHT},${y(level)}`];
      const kind = heights ? "tl-line" : "tl-line tl-theory";
      parts.push(svg("polyline", { class: `${kind} tl-style-${style}`, points: points.join(" ") }));
    }
    this.svg.replaceChildren(...parts);
    this.svg.setAttribute("aria-label", `${this.title}: ${this.inWords(lines)}`);
    this.showLegend(lines);
  }

  inWords(lines) {
    const words = lines.map(({ name, values, level }) => {
      if (!values) return `${name} at ${numberInWords(level)}`;
      if (!values.length) return `${name} not yet`;
      return `${name} from ${numberInWords(values[0])} to ${numberInWords(values.at(-1))}`;
    });
    return words.join("; ") + ".";
  }

  setTitle(title) {
    this.title = this.caption.textContent = title;
  }

  showLegend(lines) {
    const key = lines.map(({ name }) => name).join("|");
    if (key === this.legendKey) return;
    this.legendKey = key;
    // A level line named after a curve shares its dash, and the curve's entry stands for both.
    const listed = lines.filter(({ style, values }) => values || !lines.some((line) => line.values && line.style === style));
    const entries = listed.map(({ name, style, values }) => {
      const entry = document.createElement("li");
      const sample = svg("svg", { viewBox: "0 0 28 8", "aria-hidden": "true" });
      sample.append(svg("line", { class: `tl-line tl-style-${style}${values ? "" : " tl-theory"}`, x1: 0, x2: 28, y1: 4, y2: 4 }));
      entry.append(sample, name);
      return entry;
    });
    this.legend.replaceChildren(...entries);
  }
}

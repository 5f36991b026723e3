/* A grid of coloured cells on a canvas: matrices in topic order, or a document's words. Knows no model. */

// ColorBrewer's RdBu from blue to red, and Cividis: the book's two maps, told apart by all readers.
const SIGNED = [
  [5, 48, 97], [33, 102, 172], [67, 147, 195], [146, 197, 222], [209, 229, 240], [247, 247, 247],
  [253, 219, 199], [244, 165, 130], [214, 96, 77], [178, 24, 43], [103, 0, 31],
];
const FROM_ZERO = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56],
];
const TABLE = 256; // colours in a map's table
const MARGIN = 22; // pixels left and above for topic numbers

const colourTables = new Map([SIGNED, FROM_ZERO].map((stops) => [stops, colourTable(stops)]));

function colourTable(stops) {
  return Array.from({ length: TABLE }, (_, i) => {
    const place = (i / (TABLE - 1)) * (stops.length - 1);
    const k = Math.min(Math.floor(place), stops.length - 2);
    return stops[k].map((from, c) => Math.round(from + (place - k) * (stops[k + 1][c] - from)));
  });
}

/** Red, green and blue of `value` on a scale from −limit (or 0 if not signed) to limit. */
function colourOf(value, limit, signed) {
  const share = signed ? (value / limit + 1) / 2 : value / limit;
  const table = colourTables.get(signed ? SIGNED : FROM_ZERO);
  return table[Math.max(0, Math.min(TABLE - 1, Math.round(share * (TABLE - 1)))) || 0];
}

/** The end of a colour scale that shows most of `data` in full colour, one digit long; as in topiclens.figures. */
export function colourLimit(data) {
  const stride = Math.max(1, Math.floor(data.length / 5000));
  const sizes = new Float32Array(Math.floor(data.length / stride));
  for (let i = 0; i < sizes.length; i++) sizes[i] = Math.abs(data[i * stride]);
  sizes.sort();
  const reach = 1.5 * sizes[Math.floor(0.98 * (sizes.length - 1))] || 1;
  const unit = 10 ** Math.floor(Math.log10(reach));
  return Number((Math.ceil(reach / unit - 1e-9) * unit).toPrecision(1));
}

/** A colour scale from left to right, as a CSS background. */
export function scaleGradient(signed) {
  const stops = (signed ? SIGNED : FROM_ZERO).map((rgb) => `rgb(${rgb.join(" ")})`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** A canvas that shows a grid and lets pointer and keyboard read (and choose) its cells.
 *
 * What `show` takes: rows, columns, data (row by row), limit, signed; `starts`, the first index of each topic (a
 * matrix between words) or null; `text(i)`, a cell's inscription, or null; `describe(i)`, a cell in words;
 * `choose(i)`, what Enter and a click do, or null; `summary`, the whole in words.
 */
export class Picture {
  constructor(canvas, readout) {
    Object.assign(this, { canvas, readout, grid: null, cursor: null });
    this.cells = new OffscreenCanvas(1, 1);
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.addEventListener("pointermove", (event) => this.read(this.cellAt(event)));
    canvas.addEventListener("pointerleave", () => document.activeElement !== canvas && this.read(null));
    canvas.addEventListener("blur", () => this.read(null));
    canvas.addEventListener("click", (event) => {
      const cell = this.cellAt(event);
      this.read(cell);
      if (cell !== null) this.grid.choose?.(cell);
    });
    canvas.addEventListener("keydown", (event) => this.press(event));
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(canvas);
  }

  show(grid) {
    this.grid = grid;
    this.canvas.setAttribute("aria-label", grid.summary);
    if (this.cursor !== null && this.cursor >= grid.rows * grid.columns) this.cursor = null;
    this.paint();
    this.draw();
    this.tell();
  }

  /* One pixel for each cell; drawing it large is the browser's work. */
  paint() {
    const { rows, columns, data, limit, signed } = this.grid;
    this.cells.width = columns; // which also clears it
    this.cells.height = rows;
    const context = this.cells.getContext("2d");
    const image = context.createImageData(columns, rows);
    for (let i = 0; i < data.length; i++) {
      if (Number.isNaN(data[i])) continue; // left clear
      const [red, green, blue] = colourOf(data[i], limit, signed);
      image.data[4 * i] = red;
      image.data[4 * i + 1] = green;
      image.data[4 * i + 2] = blue;
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }

  /** Where the cells lie, in CSS pixels. */
  place(width, height) {
    const { rows, columns, starts } = this.grid;
    const margin = starts ? MARGIN : 0;
    return { x: margin, y: margin, cellWidth: (width - margin) / columns, cellHeight: (height - margin) / rows };
  }

  draw() {
    if (!this.grid) return;
    const { canvas, grid } = this;
    // A matrix is square; a document's lines have the height of text.
    canvas.style.aspectRatio = grid.starts ? "1" : `${grid.columns} / ${grid.rows * (grid.columns > 10 ? 0.8 : 0.6)}`;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width || !height) return;
    const density = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    const context = canvas.getContext("2d");
    context.scale(density, density);
    this.drawOn(context, width, height);
    this.drawCursor(context, width, height);
  }

  /** The picture without the cursor, on any canvas. */
  drawOn(context, width, height) {
    const { rows, columns, starts, text } = this.grid;
    const { x, y, cellWidth, cellHeight } = this.place(width, height);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.cells, x, y, width - x, height - y);
    context.font = `12px ${getComputedStyle(this.canvas).fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    if (starts) {
      context.fillStyle = getComputedStyle(this.canvas).color;
      const every = Math.ceil((starts.length * 20) / (width - x)) || 1; // numbers must not overlap
      context.strokeStyle = "rgb(128 128 128 / 70%)";
      context.lineWidth = 1;
      context.beginPath();
      starts.forEach((start, topic) => {
        const middle = (start + (starts[topic + 1] ?? rows)) / 2;
        if (topic % every === 0) {
          context.fillText(topic + 1, x + middle * cellWidth, y / 2);
          context.fillText(topic + 1, x / 2, y + middle * cellHeight);
        }
        if (topic === 0) return;
        const [across, down] = [Math.round(x + start * cellWidth), Math.round(y + start * cellHeight)];
        context.moveTo(across + 0.5, y);
        context.lineTo(across + 0.5, height);
        context.moveTo(x, down + 0.5);
        context.lineTo(width, down + 0.5);
      });
      context.stroke();
    }
    if (text) {
      for (let column = 1; column < columns; column++) context.clearRect(column * cellWidth - 0.5, 0, 1, height);
      for (let row = 1; row < rows; row++) context.clearRect(0, row * cellHeight - 0.5, width, 1);
      this.drawText(context, columns, x, y, cellWidth, cellHeight);
    }
  }

  drawText(context, columns, x, y, cellWidth, cellHeight) {
    const { data, limit, signed, text } = this.grid;
    for (let i = 0; i < data.length; i++) {
      const inscription = text(i);
      if (!inscription) continue;
      const [red, green, blue] = colourOf(data[i], limit, signed);
      context.fillStyle = 0.3 * red + 0.59 * green + 0.11 * blue > 120 ? "#000" : "#fff";
      const [column, row] = [i % columns, Math.floor(i / columns)];
      context.fillText(inscription, x + (column + 0.5) * cellWidth, y + (row + 0.5) * cellHeight, cellWidth);
    }
  }

  drawCursor(context, width, height) {
    if (this.cursor === null) return;
    const { x, y, cellWidth, cellHeight } = this.place(width, height);
    const [column, row] = [this.cursor % this.grid.columns, Math.floor(this.cursor / this.grid.columns)];
    const box = [x + column * cellWidth - 2, y + row * cellHeight - 2, cellWidth + 4, cellHeight + 4];
    for (const [colour, lineWidth] of [["#fff", 4], ["#000", 2]]) { // seen on every colour
      Object.assign(context, { strokeStyle: colour, lineWidth });
      context.strokeRect(...box);
    }
  }

  cellAt({ offsetX, offsetY }) {
    if (!this.grid) return null;
    const { rows, columns } = this.grid;
    const { x, y, cellWidth, cellHeight } = this.place(this.canvas.clientWidth, this.canvas.clientHeight);
    const [column, row] = [Math.floor((offsetX - x) / cellWidth), Math.floor((offsetY - y) / cellHeight)];
    return column >= 0 && row >= 0 && column < columns && row < rows ? row * columns + column : null;
  }

  press(event) {
    if (!this.grid) return;
    const { rows, columns, starts, choose } = this.grid;
    const far = event.shiftKey && starts ? (starts[1] ?? 1) : 1; // Shift goes from topic to topic
    const moves = { ArrowLeft: [0, -far], ArrowRight: [0, far], ArrowUp: [-far, 0], ArrowDown: [far, 0] };
    if (moves[event.key]) {
      const [down, across] = this.cursor === null ? [0, 0] : moves[event.key];
      const at = this.cursor ?? 0;
      const within = (place, size) => Math.max(0, Math.min(size - 1, place));
      this.read(within(Math.floor(at / columns) + down, rows) * columns + within((at % columns) + across, columns));
    } else if (event.key === "Escape") {
      this.read(null);
    } else if (event.key === "Enter" && this.cursor !== null) {
      choose?.(this.cursor);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Put the cursor on a cell, or away. */
  read(cell) {
    if (cell === this.cursor) return;
    this.cursor = cell;
    this.draw();
    this.tell();
  }

  tell() {
    const inside = this.cursor !== null && Number.isFinite(this.grid.data[this.cursor] ?? 0);
    const words = inside ? this.grid.describe(this.cursor) : "";
    if (this.readout.textContent !== words) this.readout.textContent = words;
  }

  stop() {
    this.sizes.disconnect();
  }
}

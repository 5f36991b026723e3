/* What the page remembers of a run, in bounded memory. Knows nothing of what is in a snapshot. */

const MOST_POINTS = 400; // of a curve
const MOST_BYTES = 96e6; // of all recorded snapshots

/** A curve of ever coarser resolution: values are averaged over stretches of steps that double when there are many. */
export class Series {
  constructor() {
    Object.assign(this, { steps: [], values: [], width: 1, sum: 0, number: 0, count: 0 });
  }

  /** The next step's value. */
  add(value) {
    this.sum += value;
    this.number++;
    this.count++;
    if (this.number < this.width) return;
    this.steps.push(this.count - (this.width + 1) / 2);
    this.values.push(this.sum / this.number);
    this.sum = this.number = 0;
    if (this.values.length === MOST_POINTS) this.halve();
  }

  halve() {
    const pairs = (list) => list.filter((_, i) => i % 2 === 0).map((x, i) => (x + list[2 * i + 1]) / 2);
    this.steps = pairs(this.steps);
    this.values = pairs(this.values);
    this.width *= 2;
  }
}

/** Rows {step, …} in order of steps; every second one goes when there are too many. */
export class Rows {
  constructor() {
    this.rows = [];
  }

  add(row) {
    this.rows.push(row);
    if (this.rows.length === MOST_POINTS) this.rows = this.rows.filter((_, i) => i % 2 === 0);
  }

  column(read) {
    return this.rows.map(read);
  }
}

/** Snapshots in order of steps, for the slider. Keeps the first one and thins the rest when they grow too large. */
export class Recorder {
  constructor() {
    this.snapshots = [];
  }

  add(snapshot) {
    this.snapshots.push(snapshot);
    if (this.snapshots.length * byteSize(snapshot) > MOST_BYTES && this.snapshots.length > 8) {
      this.snapshots = this.snapshots.filter((_, i) => i % 2 === 0);
    }
  }
}

/** Bytes of all typed arrays in a value. */
function byteSize(value) {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (value === null || typeof value !== "object") return 0;
  return Object.values(value).reduce((sum, part) => sum + byteSize(part), 0);
}

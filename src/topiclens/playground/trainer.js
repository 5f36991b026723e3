// A training run in the page: settings and their checks, steps, and what the page shows of the matrices.
// Knows nothing of the page: it runs in a worker, in a notebook's widget, or in a test.

import { Random } from "./random.js";
import { drawBatch, drawDocuments } from "./documents.js";
import { Model, multiply, transpose } from "./model.js";
import { Adam, Sgd } from "./optimizer.js";
import { frozenValueMatrix, theoryLines } from "./theory.js";

// The settings of claim 4: everything but the embeddings learns, from near zero.
export const defaultSettings = Object.freeze({
  numTopics: 10, // T
  wordsPerTopic: 10, // v
  mixture: "tau", // "tau": uniform on tau of the T topics; "dirichlet": Dirichlet(alpha)
  tau: 4,
  alpha: 0.1,
  length: 128, // N
  maskProb: 0.15, // p_m: a position is selected
  keepProb: 0.1, // p_c: a selected position keeps its word
  randomProb: 0.1, // p_r: it shows a random word; otherwise [MASK]
  seeSelected: false, // whether selected positions may be attended to
  embedding: "one-hot", // or "learned"
  value: "learned", // or "identity", or "theory": frozen at the optimum for long documents
  attention: "learned", // or "uniform"
  decoder: "identity", // or "tied": W_D = W_Eᵀ
  bias: false,
  loss: "squared", // or "cross-entropy"
  optimizer: "adam", // or "sgd"
  lr: 0.003,
  batchSize: 64,
  initScale: 0.001,
  seed: 0,
});

export const presets = Object.freeze({
  claim1: {
    name: "Claim 1: embeddings encode topics",
    settings: {
      ...defaultSettings, seeSelected: true, embedding: "learned", value: "identity", attention: "uniform",
      decoder: "tied", bias: true, initScale: 0.1,
    },
  },
  claim2: {
    name: "Claim 2: the value matrix encodes topics",
    settings: { ...defaultSettings, seeSelected: true, attention: "uniform" },
  },
  claim3: {
    name: "Claim 3: attention encodes topics",
    settings: { ...defaultSettings, seeSelected: true, value: "theory", initScale: 0.01 },
  },
  claim4: { name: "Claim 4: first the value matrix, then attention", settings: { ...defaultSettings } },
  thirdStage: { name: "The third stage: copying through carriers", settings: { ...defaultSettings, lr: 0.01 } },
});

const choices = {
  mixture: ["tau", "dirichlet"],
  embedding: ["learned", "one-hot"],
  value: ["learned", "identity", "theory"],
  attention: ["learned", "uniform"],
  decoder: ["tied", "identity"],
  loss: ["cross-entropy", "squared"],
  optimizer: ["adam", "sgd"],
  seeSelected: [true, false],
  bias: [true, false],
};

// [lowest, highest] value. The upper ends keep a step short enough for a page and its matrices in memory.
const wholeNumbers = {
  numTopics: [2, 50], wordsPerTopic: [1, 100], tau: [1, 50], length: [2, 1000], batchSize: [1, 1024],
  seed: [0, 2 ** 32 - 1],
};
const numbers = {
  alpha: [0.001, 100], maskProb: [0.01, 1], keepProb: [0, 1], randomProb: [0, 1], lr: [1e-8, 1000], initScale: [0, 10],
};
const mostWords = 300;
const mostProducts = 5e8; // in the attention of one step: less than a second

// A setting that cannot be: `field` names it, `message` is a sentence for the reader.
export class SettingsError extends Error {
  constructor(field, message) {
    super(message);
    this.name = "SettingsError";
    this.field = field;
  }
}

// Returns the settings completed by the default ones, or throws a SettingsError.
export function checkSettings(settings) {
  for (const field of Object.keys(settings)) {
    if (!(field in defaultSettings)) throw new SettingsError(field, `${field} is not a setting.`);
  }
  const complete = { ...defaultSettings, ...settings };
  const refuse = (field, bound) => {
    throw new SettingsError(field, `${field} = ${complete[field]} must be ${bound}.`);
  };
  for (const [field, values] of Object.entries(choices)) {
    if (!values.includes(complete[field])) refuse(field, `one of ${values.join(", ")}`);
  }
  for (const [fields, kind, fits] of [
    [wholeNumbers, "a whole number", Number.isInteger], [numbers, "a number", Number.isFinite],
  ]) {
    for (const [field, [low, high]] of Object.entries(fields)) {
      const value = complete[field];
      if (!fits(value) || value < low || value > high) refuse(field, `${kind} between ${low} and ${high}`);
    }
  }
  const { numTopics, wordsPerTopic, mixture, tau, keepProb, randomProb } = complete;
  if (numTopics * wordsPerTopic > mostWords) {
    refuse("wordsPerTopic", `at most ${Math.floor(mostWords / numTopics)} for ${numTopics} topics: ` +
      `the page trains at most ${mostWords} words`);
  }
  if (mixture === "tau" && tau > numTopics) refuse("tau", `at most numTopics = ${numTopics}`);
  if (keepProb + randomProb > 1 + 1e-12) {
    refuse("randomProb", `at most 1 − keepProb = ${+(1 - keepProb).toFixed(6)}: the two share the selected positions`);
  }
  if (complete.value === "theory" && complete.embedding !== "one-hot") {
    refuse("value", "learned or identity with learned embeddings: the theory's matrix is for one-hot ones");
  }
  const { embedding, value, attention, bias } = complete;
  if (embedding === "one-hot" && value !== "learned" && attention === "uniform" && !bias) {
    refuse("value", "learned here, or embeddings or attention must be: with all matrices frozen nothing can learn");
  }
  // Rows of a batch times their keys times outputs, forward and twice as much backward: see model.js.
  const { length, batchSize, maskProb } = complete, V = numTopics * wordsPerTopic;
  const rows = attention === "uniform" ? 1 : 1 + Math.min(V, length * maskProb * (keepProb + randomProb));
  const most = Math.floor(mostProducts / (3 * rows * Math.min(V + 1, length) * (V + 1)));
  if (batchSize > most) refuse("batchSize", `at most ${most} for such documents: else a step would take seconds`);
  return complete;
}

// Rates at which the presets train: with Adam, and with SGD by the kind of embeddings.
const usefulRate = { adam: 0.003, "one-hot": 10, learned: 0.1 };

// The loss is no longer a finite number; `step` says since when.
export class DivergedError extends Error {
  constructor(step, { lr, optimizer, embedding }) {
    const good = usefulRate[optimizer === "adam" ? "adam" : embedding];
    super(`The loss is not finite at step ${step}: training diverged. Try the learning rate ${good < lr ? good : lr / 10}.`);
    this.name = "DivergedError";
    this.step = step;
  }
}

export const documentsKept = 8; // for the view of attention

export class Trainer {
  // Throws a SettingsError.
  constructor(settings = {}) {
    this.settings = checkSettings(settings);
    const { numTopics, wordsPerTopic, optimizer, lr, seed } = this.settings;
    this.numWords = numTopics * wordsPerTopic; // V
    this.stepCount = 0;
    // Start, batches and the documents kept for the view each have numbers of their own.
    this.random = new Random(seed + 1);
    this.model = new Model(this.numWords + 1, this.settings, new Random(seed), {
      frozenValue: this.settings.value === "theory" ? frozenValueMatrix(this.settings) : null,
    });
    this.optimizer = optimizer === "adam" ? new Adam(lr) : new Sgd(lr);
    this.kept = drawDocuments(this.settings, documentsKept, new Random(seed + 2));
  }

  // Draws a batch and descends once. Returns the batch's loss before the step; throws a DivergedError.
  step() {
    const loss = this.model.lossAndGradients(drawBatch(this.settings, this.random));
    if (!Number.isFinite(loss)) throw new DivergedError(this.stepCount, this.settings);
    this.optimizer.step(this.model.matrices, this.model.gradients);
    this.stepCount++;
    return loss;
  }

  // The model's tables for its present matrices, filled once for all views of them.
  tables() {
    if (this.tablesAt !== this.stepCount) this.model.fillTables();
    this.tablesAt = this.stepCount;
    return this.model.tables;
  }

  // name → { rows, cols, data: Float32Array by rows }, copies. A tied decoder is no matrix of its own.
  matrices() {
    const n = this.numWords + 1;
    return Object.fromEntries(
      Object.entries(this.model.matrices).map(([name, data]) => [
        name, { rows: n, cols: name === "b" ? 1 : n, data: data.slice() },
      ]),
    );
  }

  // The names of the matrices that are trained.
  learned() {
    return Object.keys(this.model.gradients);
  }

  // The theory's lines for these settings: see theoryLines.
  theory() {
    return theoryLines(this.settings);
  }

  // What the page draws; matrices between words are (V, V) by rows, Float32Array:
  //   gram      W_Eᵀ W_E
  //   values    W_Eᵀ W_V W_E, the value matrix between words (W_V itself for one-hot embeddings), row = output
  //   composed  W_D W_V W_E, what attending to a word alone adds to the logits, row = output
  //   scores    before the softmax, row = query, column = key
  // norms: name → Frobenius norm of each learned matrix. means: { gram, values, composed, scores } → { sameWord,
  // sameTopic, differentTopic }, NaN where there is no such pair. ratio: the median over word queries of mean attention
  // to words of the own topic (itself included) over that to other words.
  views() {
    const { model } = this, { n } = model, { W_E } = model.matrices;
    const tables = this.tables();
    let [gram, values] = [W_E, tables.values];
    if (!model.oneHot) {
      multiply(n, W_E, W_E, (gram = new Float32Array(n * n)), { transposed: true });
      multiply(n, W_E, tables.values, (values = new Float32Array(n * n)), { transposed: true });
    }
    const views = { gram, values, composed: transpose(n, tables.outputs), scores: tables.scores };
    const means = {};
    for (const name of Object.keys(views)) {
      views[name] = this.betweenWords(views[name]);
      means[name] = this.blockMeans(views[name]);
    }
    const norms = Object.fromEntries(
      this.learned().map((name) => [name, Math.sqrt(model.matrices[name].reduce((sum, x) => sum + x * x, 0))]),
    );
    return { ...views, means, norms, ratio: this.attentionRatio(views.scores) };
  }

  // Attention between the positions of one of the documents kept for this view (`this.kept.D` of them).
  // words, shown, selected: (N,) true ids, shown ids, 1 where selected. weights: (N, N) Float32Array by rows,
  // row = query, each summing to 1; 0 if no position may be attended to.
  attention(documentIndex) {
    const { scores } = this.tables(), { n } = this.model, { N } = this.kept;
    const part = ([name, array]) => [name, array.slice(documentIndex * N, (documentIndex + 1) * N)];
    const { words, shown, selected } = Object.fromEntries(
      Object.entries(this.kept).filter(([, value]) => value.slice).map(part),
    );
    const weights = new Float32Array(N * N);
    const visible = (k) => this.settings.seeSelected || !selected[k];
    for (let q = 0; q < N; q++) {
      let largest = -Infinity, total = 0;
      for (let k = 0; k < N; k++) if (visible(k)) largest = Math.max(largest, scores[shown[q] * n + shown[k]]);
      for (let k = 0; k < N; k++) {
        if (visible(k)) total += weights[q * N + k] = Math.exp(scores[shown[q] * n + shown[k]] - largest);
      }
      if (total > 0) for (let k = 0; k < N; k++) weights[q * N + k] /= total;
    }
    return { words, shown, selected, weights, length: N };
  }

  // For each word as a query, in a document that shows each word of four topics equally often (its own topic and the
  // three that follow it): the key with most attention, its share, and the word with the largest output.
  // Returns V objects { query, favourite, share, output } of ids.
  carriers() {
    const { numTopics: T, wordsPerTopic: v } = this.settings, { n } = this.model;
    const size = Math.min(4, T) * v;
    const { outputs } = this.tables(), { b } = this.model.matrices;
    const result = [], weights = new Float64Array(size);
    for (let query = 1; query < n; query++) {
      const topic = Math.floor((query - 1) / v);
      const ids = Int32Array.from({ length: size }, (_, k) => 1 + ((topic * v + k) % (T * v)));
      this.model.attend({ start: [0, size], ids, counts: new Int32Array(size).fill(1) }, 0, query, weights, 0);
      const logits = Float64Array.from(b);
      for (let k = 0; k < size; k++) for (let j = 0; j < n; j++) logits[j] += weights[k] * outputs[ids[k] * n + j];
      const best = indexOfLargest(weights, 0);
      result.push({ query, favourite: ids[best], share: weights[best], output: indexOfLargest(logits, 1) });
    }
    return result;
  }

  // Without the row and the column of [MASK].
  betweenWords(matrix) {
    const V = this.numWords, n = V + 1, words = new Float32Array(V * V);
    for (let i = 0; i < V; i++) words.set(matrix.subarray((i + 1) * n + 1, (i + 2) * n), i * V);
    return words;
  }

  blockMeans(matrix) {
    const V = this.numWords, v = this.settings.wordsPerTopic;
    const sums = [0, 0, 0], pairs = [0, 0, 0];
    for (let i = 0; i < V; i++) {
      for (let j = 0; j < V; j++) {
        const relation = i === j ? 0 : Math.floor(i / v) === Math.floor(j / v) ? 1 : 2;
        sums[relation] += matrix[i * V + j];
        pairs[relation]++;
      }
    }
    const [sameWord, sameTopic, differentTopic] = sums.map((sum, i) => (pairs[i] ? sum / pairs[i] : NaN));
    return { sameWord, sameTopic, differentTopic };
  }

  attentionRatio(scores) {
    const V = this.numWords, v = this.settings.wordsPerTopic;
    const ratios = new Float64Array(V);
    for (let i = 0; i < V; i++) {
      const row = scores.subarray(i * V, (i + 1) * V);
      const largest = row.reduce((x, y) => Math.max(x, y));
      let same = 0, different = 0;
      for (let j = 0; j < V; j++) {
        const weight = Math.exp(row[j] - largest);
        if (Math.floor(i / v) === Math.floor(j / v)) same += weight;
        else different += weight;
      }
      ratios[i] = same / v / (different / (V - v));
    }
    ratios.sort();
    return (ratios[(V - 1) >> 1] + ratios[V >> 1]) / 2;
  }
}

function indexOfLargest(array, from) {
  let best = from;
  for (let i = from + 1; i < array.length; i++) if (array[i] > array[best]) best = i;
  return best;
}

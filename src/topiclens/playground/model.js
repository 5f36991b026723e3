// The one-layer transformer of topiclens.model on word counts: forward, both losses, and their gradients by hand.
// Knows nothing of topics or settings' bounds. Attention is rows = query, columns = key.
//
// The width d is V + 1 throughout, so that every matrix is n × n with n = V + 1 ids, stored by rows. (Narrower
// embeddings would make a step cheaper, but even with all matrices learned a page trains on thousands of documents a
// second.)
//
// What the layer does to a document depends on two tables between ids alone:
//     scores   S[query, key]  = (W_Q W_E)ᵀ (W_K W_E) / √d
//     outputs  O[id, output]  = (W_D W_V W_E)ᵀ
// and for a row of the batch (a document with counts c, and the id q that the query shows)
//     w[k] = c[k]·exp(S[q, k]) / Σ c·exp(S[q, ·]),      logits = Σ w[k]·O[k, ·] + b.

// C = scale · A B, or scale · Aᵀ B, or that added to C; all n × n. Rows of C are built from rows of B, four at a
// time: each number of C is then fetched and stored a quarter as often.
export function multiply(n, A, B, C, { transposed = false, scale = 1, add = false } = {}) {
  const across = transposed ? n : 1, down = transposed ? 1 : n;
  if (!add) C.fill(0);
  for (let i = 0; i < n; i++) {
    const c = i * n;
    let k = 0;
    for (; k + 3 < n; k += 4) {
      const a = i * down + k * across, b = k * n;
      addRows(n, C, c, B, b, scale * A[a], scale * A[a + across], scale * A[a + 2 * across], scale * A[a + 3 * across]);
    }
    for (; k < n; k++) addRow(n, C, c, B, k * n, scale * A[i * down + k * across]);
  }
}

// C[c..] += x·B[b..] over n numbers; and the same for four rows of B that follow each other.
function addRow(n, C, c, B, b, x) {
  for (let j = 0; j < n; j++) C[c + j] += x * B[b + j];
}

function addRows(n, C, c, B, b, x0, x1, x2, x3) {
  const b1 = b + n, b2 = b1 + n, b3 = b2 + n;
  for (let j = 0; j < n; j++) C[c + j] += x0 * B[b + j] + x1 * B[b1 + j] + x2 * B[b2 + j] + x3 * B[b3 + j];
}

export function transpose(n, A) {
  const B = new A.constructor(n * n);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) B[j * n + i] = A[i * n + j];
  return B;
}

export class Model {
  // numIds: n = V + 1.
  // switches: embedding "learned" | "one-hot", attention "learned" | "uniform", value "learned" | "identity" |
  //   "theory" (frozen at `frozenValue`, n × n), decoder "tied" | "identity", bias, loss "cross-entropy" | "squared",
  //   initScale (standard deviation of learned entries at the start).
  // Real: the kind of array; Float64Array lets a test take finite differences.
  constructor(numIds, switches, random, { frozenValue = null, Real = Float32Array } = {}) {
    const n = (this.n = numIds);
    this.Real = Real;
    this.switches = switches;
    this.oneHot = switches.embedding === "one-hot";
    this.uniform = switches.attention === "uniform";
    this.identityValue = switches.value === "identity";
    this.squared = switches.loss === "squared";
    // With one-hot embeddings a tied decoder is the identity too.
    this.plainDecoder = switches.decoder === "identity" || this.oneHot;

    const learned = () => Real.from({ length: n * n }, () => switches.initScale * random.gaussian());
    const identity = () => Real.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 1 : 0));
    const zeros = () => new Real(n * n);
    this.matrices = {
      W_E: this.oneHot ? identity() : learned(),
      W_K: this.uniform ? zeros() : learned(),
      W_Q: this.uniform ? zeros() : learned(),
      W_V: switches.value === "learned" ? learned() : this.identityValue ? identity() : Real.from(frozenValue),
      b: new Real(n),
    };
    // A tied decoder is W_Eᵀ and no matrix of its own.
    if (switches.decoder === "identity") this.matrices.W_D = identity();
    this.gradients = {}; // one array for each learned matrix
    if (!this.oneHot) this.gradients.W_E = zeros();
    if (!this.uniform) Object.assign(this.gradients, { W_K: zeros(), W_Q: zeros() });
    if (switches.value === "learned") this.gradients.W_V = zeros();
    if (switches.bias) this.gradients.b = new Real(n);

    this.tables = {}; // intermediate results, refilled at each step
    for (const name of ["queries", "keys", "values", "scores", "outputs"]) this.tables[name] = zeros();
    this.tableGradients = { scores: zeros(), outputs: zeros(), scratch: zeros() };
  }

  // Fills the two tables from the matrices. Products with an identity matrix are left out, here and below: at this
  // size they are most of the arithmetic.
  fillTables() {
    const { n, matrices: M, tables: t } = this;
    if (!this.uniform) {
      if (this.oneHot) [t.queries, t.keys] = [M.W_Q, M.W_K];
      else {
        multiply(n, M.W_Q, M.W_E, t.queries);
        multiply(n, M.W_K, M.W_E, t.keys);
      }
      multiply(n, t.queries, t.keys, t.scores, { transposed: true, scale: 1 / Math.sqrt(n) });
    }
    if (this.identityValue) t.values = M.W_E;
    else if (this.oneHot) t.values = M.W_V;
    else multiply(n, M.W_V, M.W_E, t.values);
    if (this.plainDecoder) t.outputs = transpose(n, t.values);
    else multiply(n, t.values, M.W_E, t.outputs, { transposed: true });
  }

  // Attention of a query id to the ids of document d of the batch, written to weights[at..]: a softmax over ids of
  // score + log(count). Nothing is written for a document without a visible position.
  attend(batch, d, query, weights, at) {
    const { n, tables: { scores } } = this, { ids, counts } = batch;
    const first = batch.start[d], size = batch.start[d + 1] - first;
    let largest = -Infinity, total = 0;
    if (!this.uniform) for (let k = 0; k < size; k++) largest = Math.max(largest, scores[query * n + ids[first + k]]);
    for (let k = 0; k < size; k++) {
      const raised = this.uniform ? 1 : Math.exp(scores[query * n + ids[first + k]] - largest);
      total += weights[at + k] = counts[first + k] * raised;
    }
    for (let k = 0; k < size; k++) weights[at + k] /= total;
  }

  // Keeps in `this`: weights (all rows', one after the other, row r's from place[r]) and logits (R·n,).
  forward(batch) {
    const { n, Real, matrices: { b } } = this, { start, ids, document, query } = batch;
    this.fillTables();
    const { outputs } = this.tables;
    const R = document.length;
    const place = (this.place = new Int32Array(R + 1));
    for (let r = 0; r < R; r++) place[r + 1] = place[r] + start[document[r] + 1] - start[document[r]];
    const weights = (this.weights = new Real(place[R]));
    const logits = (this.logits = new Real(R * n));
    for (let r = 0; r < R; r++) {
      this.attend(batch, document[r], query[r], weights, place[r]);
      logits.set(b, r * n);
      let k = place[r], id = start[document[r]];
      for (; k + 1 < place[r + 1]; k += 2, id += 2) {
        addTwo(n, logits, r * n, outputs, ids[id] * n, ids[id + 1] * n, weights[k], weights[k + 1]);
      }
      if (k < place[r + 1]) addRow(n, logits, r * n, outputs, ids[id] * n, weights[k]);
    }
    return logits;
  }

  // Mean loss over the batch's selected positions; leaves its gradients in this.gradients.
  // Squared: |logits − one-hot of the true id|², summed over the n outputs. Cross-entropy: in nats.
  lossAndGradients(batch) {
    if (this.uniform) batch = byDocument(batch);
    this.forward(batch);
    const loss = this.lossGradient(batch);
    this.backThroughRows(batch);
    this.backThroughTables();
    return loss;
  }

  // Overwrites the logits by the loss's gradient with respect to them.
  lossGradient({ document, row, target }) {
    const { n, logits } = this, Q = row.length;
    const share = new Float64Array(document.length);
    let loss = this.squared ? 1 : 0;
    for (let i = 0; i < Q; i++) {
      share[row[i]] += 1 / Q;
      loss -= (this.squared ? 2 : 1) * logits[row[i] * n + target[i]] / Q;
    }
    for (let r = 0; r < share.length; r++) {
      const from = r * n, to = from + n;
      if (this.squared) {
        let squares = 0;
        for (let j = from; j < to; j++) {
          squares += logits[j] * logits[j];
          logits[j] *= 2 * share[r];
        }
        loss += share[r] * squares;
      } else {
        let largest = -Infinity, total = 0;
        for (let j = from; j < to; j++) if (!(logits[j] <= largest)) largest = logits[j]; // so that NaN gets through
        for (let j = from; j < to; j++) total += logits[j] = Math.exp(logits[j] - largest);
        for (let j = from; j < to; j++) logits[j] *= share[r] / total;
        loss += share[r] * (largest + Math.log(total));
      }
    }
    for (let i = 0; i < Q; i++) logits[row[i] * n + target[i]] -= (this.squared ? 2 : 1) / Q;
    return loss;
  }

  // From the gradient g of the logits to those of b and of the two tables. With e[k] = g·O[k, ·]:
  //     dO[k, ·] = Σ_rows w[k]·g,      dS[q, k] = Σ_rows w[k]·(e[k] − Σ w·e).
  backThroughRows({ start, ids, document, query }) {
    const { n, weights, place, logits: g, tables: { outputs }, tableGradients: { scores: dS, outputs: dO } } = this;
    const needScores = !this.uniform;
    const needOutputs = "W_V" in this.gradients || "W_E" in this.gradients;
    dS.fill(0);
    dO.fill(0);
    const pull = new Float64Array(n); // e
    for (let r = 0; r < document.length; r++) {
      const at = place[r], size = place[r + 1] - at, first = start[document[r]], from = r * n;
      let mean = 0;
      for (let k = 0; k < size; k++) {
        const o = ids[first + k] * n;
        if (needOutputs) addRow(n, dO, o, g, from, weights[at + k]);
        if (needScores) mean += weights[at + k] * (pull[k] = dot(n, g, from, outputs, o));
      }
      if (needScores) {
        for (let k = 0; k < size; k++) dS[query[r] * n + ids[first + k]] += weights[at + k] * (pull[k] - mean);
      }
    }
    const { b } = this.gradients;
    if (b) {
      b.fill(0);
      for (let r = 0; r < document.length; r++) addRow(n, b, 0, g, r * n, 1);
    }
  }

  // From the tables' gradients to the matrices'.
  backThroughTables() {
    const { n, matrices: M, gradients: G, tables: t, tableGradients: { scores: dS, outputs: dO, scratch } } = this;
    const keep = { add: true };
    G.W_E?.fill(0);
    if (!this.uniform) {
      const scale = 1 / Math.sqrt(n);
      const dQueries = this.oneHot ? G.W_Q : scratch;
      multiply(n, t.keys, transpose(n, dS), dQueries, { scale });
      if (!this.oneHot) this.backThroughEmbedding(M.W_Q, dQueries, G.W_Q);
      const dKeys = this.oneHot ? G.W_K : scratch;
      multiply(n, t.queries, dS, dKeys, { scale });
      if (!this.oneHot) this.backThroughEmbedding(M.W_K, dKeys, G.W_K);
    }
    if (!G.W_V && !G.W_E) return;
    const back = transpose(n, dO);
    let dValues = back;
    if (!this.plainDecoder) {
      dValues = scratch;
      multiply(n, M.W_E, back, dValues);
      multiply(n, t.values, dO, G.W_E, keep);
    }
    if (this.oneHot) G.W_V.set(dValues);
    else if (this.identityValue) for (let i = 0; i < n * n; i++) G.W_E[i] += dValues[i];
    else this.backThroughEmbedding(M.W_V, dValues, G.W_V);
  }

  // From the gradient of W W_E to those of W (if it is learned) and W_E.
  backThroughEmbedding(W, dProduct, dW) {
    if (dW) multiply(this.n, dProduct, transpose(this.n, this.matrices.W_E), dW);
    multiply(this.n, W, dProduct, this.gradients.W_E, { transposed: true, add: true });
  }
}

// C[c..] += x·B[p..] + y·B[q..] over n numbers.
function addTwo(n, C, c, B, p, q, x, y) {
  for (let j = 0; j < n; j++) C[c + j] += x * B[p + j] + y * B[q + j];
}

// Σ A[a..]·B[b..] over n numbers; four sums, so that one addition need not wait for the last.
function dot(n, A, a, B, b) {
  let s0 = 0, s1 = 0, s2 = 0, s3 = 0, j = 0;
  for (; j + 3 < n; j += 4) {
    s0 += A[a + j] * B[b + j];
    s1 += A[a + j + 1] * B[b + j + 1];
    s2 += A[a + j + 2] * B[b + j + 2];
    s3 += A[a + j + 3] * B[b + j + 3];
  }
  for (; j < n; j++) s0 += A[a + j] * B[b + j];
  return s0 + s1 + s2 + s3;
}

// Under uniform attention all queries of a document see the same: one row a document is enough.
function byDocument(batch) {
  const document = Int32Array.from({ length: batch.D }, (_, d) => d);
  return { ...batch, document, query: new Int32Array(batch.D), row: batch.row.map((r) => batch.document[r]) };
}

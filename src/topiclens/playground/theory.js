// What the page draws as dashed lines: exact optima and losses, in double precision (as topiclens.theory).
//
// Topics are alike, and so are the words of a topic. Every matrix over ids that follows from the settings alone is
// therefore a multiple of the identity on each of two spaces, (1) differences between words of one topic,
// (2) differences between topics, and a 2 × 2 matrix on the rest: (3) the direction (1, …, 1)/√V of all words and
// [MASK]. Such a "block" is the array [on (1), on (2), common00, common01, common10, common11]; sums, products and
// inverses of the V + 1 square matrices are those of these few numbers. A vector is the pair of its (3) components.
//
// a, b, c: the shares of positions that show a word of the document, a random word, and [MASK].

import { Random } from "./random.js";

const sumOf = (...terms) => [0, 1, 2, 3, 4, 5].map((i) => terms.reduce((sum, [x, block]) => sum + x * block[i], 0));
const outer = ([x, y], [z, w]) => [0, 0, x * z, x * w, y * z, y * w];

// ⟨A, B⟩, the sum of products of all entries of the two matrices.
function inner({ numTopics: T, wordsPerTopic: v }, A, B) {
  const common = A[2] * B[2] + A[3] * B[3] + A[4] * B[4] + A[5] * B[5];
  return T * (v - 1) * A[0] * B[0] + (T - 1) * A[1] * B[1] + common;
}

// The entries of a block's matrix: between a word and itself, another word of its topic, a word of another topic;
// and `mask`, word row and [MASK] column.
function entries({ numTopics: T, wordsPerTopic: v }, [within, between, all, mask]) {
  const V = T * v;
  const differentTopic = (all - between) / V;
  const sameTopic = differentTopic + (between - within) / v;
  return { sameWord: sameTopic + within, sameTopic, differentTopic, mask: mask / Math.sqrt(V) };
}

// A position that shows a·p + b·u + c·e₀ on average: p the document's words, u all words alike, e₀ [MASK].
function position({ numTopics: T, wordsPerTopic: v, mixture, tau, alpha }, a, b, c) {
  const V = T * v;
  // E[p pᵀ] follows from the variance of θ between topics, E θ_s² − E θ_s θ_t.
  const variance =
    mixture === "tau" ? (1 - (tau - 1) / (T - 1)) / (tau * T) : 1 / (T * (T * alpha + 1));
  const second = [0, variance / v, 1 / V, 0, 0, 0];
  const words = [1 / Math.sqrt(V), 0];
  const fixed = [b / Math.sqrt(V), c];
  const mean = [(a + b) / Math.sqrt(V), c];
  return { a, second, words, fixed, mean };
}

// E[p · shownᵀ], E[shown · otherᵀ] for two positions of one document, and diag(E shown).
const withWords = (x) => sumOf([x.a, x.second], [1, outer(x.words, x.fixed)]);
const withOther = (x, y) =>
  sumOf([x.a * y.a, x.second], [x.a, outer(x.words, y.fixed)], [1, outer(x.fixed, y.mean)]);
function diagonal(settings, [words, mask]) {
  const each = words / Math.sqrt(settings.numTopics * settings.wordsPerTopic);
  return [each, each, each, 0, 0, mask];
}

// The second moments that the squared loss of a linear layer on x̄ depends on, x̄ being the mean of the one-hot ids
// that a selected position may attend to and x its true word: D = E[x x̄ᵀ], C = E[x̄ x̄ᵀ], target E[x], average E[x̄].
export function moments(settings, { infinite = false } = {}) {
  const { length: N, maskProb, keepProb, randomProb, seeSelected } = settings;
  const hideProb = Math.max(0, 1 - keepProb - randomProb);
  const ordinary = seeSelected
    ? position(settings, 1 - (1 - keepProb) * maskProb, maskProb * randomProb, maskProb * hideProb)
    : position(settings, 1, 0, 0);
  const target = ordinary.words;
  const both = withOther(ordinary, ordinary), mean = ordinary.mean;
  if (infinite) return { target, average: mean, D: withWords(ordinary), C: both };
  if (!seeSelected) {
    // x̄ is over M ~ Binomial(N − 1, 1 − p_m) unselected positions, and 0 if there is none.
    let some = 0, inverse = 0, logChoose = 0;
    for (let M = 1; M < N; M++) {
      logChoose += Math.log((N - M) / M);
      const chance =
        maskProb < 1 ? Math.exp(logChoose + M * Math.log(1 - maskProb) + (N - 1 - M) * Math.log(maskProb)) : 0;
      some += chance;
      inverse += chance / M;
    }
    return {
      target,
      average: mean.map((x) => some * x),
      D: sumOf([some, ordinary.second]),
      C: sumOf([inverse, diagonal(settings, mean)], [some - inverse, ordinary.second]),
    };
  }
  // x̄ is over all positions: N − 1 ordinary ones and the selected one itself.
  const itself = position(settings, keepProb, randomProb, hideProb);
  const D = sumOf(
    [(N - 1) / N, withWords(ordinary)],
    [keepProb / N, diagonal(settings, target)],
    [1 / N, outer(target, itself.fixed)],
  );
  const C = sumOf(
    [1 / N ** 2, diagonal(settings, itself.mean)],
    [(N - 1) / N ** 2, diagonal(settings, mean)],
    [((N - 1) * (N - 2)) / N ** 2, both],
    [(N - 1) / N ** 2, withOther(itself, ordinary)],
    [(N - 1) / N ** 2, withOther(ordinary, itself)],
  );
  return { target, average: mean.map((x, i) => ((N - 1) * x + itself.mean[i]) / N), D, C };
}

// The moments with the means taken out if the layer has a bias, and the size below which an eigenvalue of C is 0.
function effective(settings, options) {
  const m = moments(settings, options);
  const tolerance = 1e-12 * inner(settings, m.C, [1, 1, 1, 0, 0, 1]);
  if (!settings.bias) return { ...m, tolerance };
  return {
    ...m, tolerance,
    D: sumOf([1, m.D], [-1, outer(m.target, m.average)]),
    C: sumOf([1, m.C], [-1, outer(m.average, m.average)]),
  };
}

// Eigenvalues and unit eigenvectors of the symmetric 2 × 2 part of a block.
function eigenpairs([, , p, q, , s]) {
  const angle = Math.atan2(2 * q, p - s) / 2, x = Math.cos(angle), y = Math.sin(angle);
  const value = (x, y) => p * x * x + 2 * q * x * y + s * y * y;
  return [{ value: value(x, y), vector: [x, y] }, { value: value(-y, x), vector: [-y, x] }];
}

// W_V of least squared loss under uniform attention with one-hot embeddings: D C⁺, a block.
function valueBlock(settings, options) {
  const { D, C, tolerance } = effective(settings, options);
  const over = (x, y) => (Math.abs(y) > tolerance ? x / y : 0);
  const W = [over(D[0], C[0]), over(D[1], C[1]), 0, 0, 0, 0];
  for (const { value, vector: [x, y] } of eigenpairs(C)) {
    const image = [over(D[2] * x + D[3] * y, value), over(D[4] * x + D[5] * y, value)];
    outer(image, [x, y]).forEach((z, i) => (W[i] += z));
  }
  return W;
}

// That matrix's entries. Options: infinite, for long documents.
export function valueOptimum(settings, options) {
  return entries(settings, valueBlock(settings, options));
}

// W_V of long documents as an array over ids, (V+1)² by rows: what `value: "theory"` freezes the layer at.
export function frozenValueMatrix(settings) {
  const v = settings.wordsPerTopic, n = settings.numTopics * v + 1;
  const { sameTopic, differentTopic, mask } = valueOptimum({ ...settings, bias: false }, { infinite: true });
  const W = new Float64Array(n * n);
  const topic = (id) => Math.floor((id - 1) / v);
  for (let i = 1; i < n; i++) {
    W[i * n] = mask;
    for (let j = 1; j < n; j++) W[i * n + j] = topic(i) === topic(j) ? sameTopic : differentTopic;
  }
  return W;
}

// E = W_Eᵀ W_E of least squared loss under uniform attention with W_V = I and a tied decoder: the symmetric solution
// of C E + E C = D + Dᵀ, one division for each pair of C's eigenvectors. null if no W_E has that Gram matrix.
function gramBlock(settings, options) {
  const { D, C, tolerance } = effective(settings, options);
  const over = (x, y) => (y > tolerance ? x / y : 0);
  const E = [over(2 * D[0], 2 * C[0]), over(2 * D[1], 2 * C[1]), 0, 0, 0, 0];
  const pairs = eigenpairs(C);
  for (const one of pairs) {
    for (const other of pairs) {
      const [x, y] = one.vector, [z, w] = other.vector;
      const entry = 2 * (x * D[2] * z + y * D[5] * w) + (D[3] + D[4]) * (x * w + y * z);
      outer([x, y], [z, w]).forEach((u, i) => (E[i] += u * over(entry, one.value + other.value)));
    }
  }
  const smallest = Math.min(E[0], E[1], ...eigenpairs(E).map(({ value }) => value));
  return smallest < -1e-9 ? null : E;
}

export function gramOptimum(settings, options) {
  const E = gramBlock(settings, options);
  return E && entries(settings, E);
}

// Expected |W x̄ + b − x|² of a linear layer (a block) with the best b, or none.
function linearLoss(settings, W, options) {
  const { D, C, target } = effective(settings, options);
  const explained = settings.bias ? target[0] ** 2 : 0;
  const WC = [
    W[0] * C[0], W[1] * C[1],
    W[2] * C[2] + W[3] * C[4], W[2] * C[3] + W[3] * C[5], W[4] * C[2] + W[5] * C[4], W[4] * C[3] + W[5] * C[5],
  ];
  return 1 - explained - 2 * inner(settings, W, D) + inner(settings, WC, W);
}

// The squared loss of attention on long documents of τ topics, W_V frozen at `frozenValueMatrix`, if word queries give
// positions of their topic r times the attention of others ([MASK] among them) and [MASK] queries attend uniformly.
export function attentionLoss(settings, r) {
  const { numTopics: T, wordsPerTopic: v, tau, maskProb, keepProb, randomProb, seeSelected } = settings;
  const hideProb = Math.max(0, 1 - keepProb - randomProb), V = T * v;
  let a = 1, b = 0, c = 0, different = 0, mask = 0;
  if (seeSelected) {
    [a, b, c] = [1 - (1 - keepProb) * maskProb, maskProb * randomProb, maskProb * hideProb];
    different = -((b * (a + b)) / V + c * c) / (a * ((a + b) ** 2 + c * c * V));
    mask = (c * (1 / a + V * different)) / (a + b);
  }
  const gain = 1 / (a * v); // same topic − different topic
  const here = a / tau + b / T, elsewhere = b / T; // shares of positions: one topic of the document, one other topic

  // A query that shows a word of topic s; s in the document or not; its true word kept or drawn anew.
  function ofQuery(r, inDocument, kept) {
    const own = r * (inDocument ? here : elsewhere);
    const inside = tau - (inDocument ? 1 : 0), outside = T - tau - (inDocument ? 0 : 1);
    const total = own + inside * here + outside * elsewhere + c;
    const base = (different * (total - c) + mask * c) / total;
    const atOwn = base + (gain * own) / total;
    const atInside = base + (gain * here) / total, atOutside = base + (gain * elsewhere) / total;
    const squares = v * (atOwn ** 2 + inside * atInside ** 2 + outside * atOutside ** 2);
    const atTruth = kept ? atOwn : inDocument ? (atOwn + (tau - 1) * atInside) / tau : atInside;
    return squares - 2 * atTruth + 1;
  }
  return (
    hideProb * ofQuery(1, true, false) +
    keepProb * ofQuery(r, true, true) +
    randomProb * (tau / T) * ofQuery(r, true, false) +
    randomProb * (1 - tau / T) * ofQuery(r, false, false)
  );
}

// The r of least `attentionLoss`: found by golden section over log r, or 1 + T·p_c/p_r with selected positions hidden.
// null where no r is better than another.
export function optimalRatio(settings) {
  const { numTopics: T, tau, keepProb, randomProb, seeSelected } = settings;
  if ((keepProb === 0 && randomProb === 0) || (tau === 1 && !seeSelected)) return null;
  if (keepProb === 1) return Infinity;
  if (!seeSelected) return randomProb > 0 ? 1 + (T * keepProb) / randomProb : Infinity;
  const golden = (Math.sqrt(5) - 1) / 2, at = (x) => attentionLoss(settings, Math.exp(x));
  let low = -20, high = 20;
  while (high - low > 1e-9) {
    const step = golden * (high - low);
    if (at(high - step) < at(low + step)) high = low + step;
    else low = high - step;
  }
  return Math.exp((low + high) / 2);
}

// The least loss of any predictor on long documents, whose topic mixture can be read off. useQuery: whether it looks
// at what the position itself shows. Exact for τ of T topics; for a Dirichlet mixture a mean over sampled ones.
export function bayesLoss(settings, { useQuery = true } = {}) {
  const { numTopics: T, mixture, tau, alpha } = settings;
  if (mixture === "tau") {
    return posteriorLoss(settings, Float64Array.from({ length: T }, (_, t) => (t < tau ? 1 / tau : 0)), useQuery);
  }
  const random = new Random(0), draws = Math.ceil(40_000 / T); // some 20 ms
  let sum = 0;
  for (let i = 0; i < draws; i++) sum += posteriorLoss(settings, random.dirichlet(alpha, T), useQuery);
  return sum / draws;
}

// The loss of the posterior over true words in a document of topic mixture theta. With p the chance of a word, the
// truth and what is shown are jointly: p·(p_c + p_r/V) for the word itself, p·p_r/V for each other word.
function posteriorLoss({ wordsPerTopic: v, keepProb, randomProb, loss }, theta, useQuery) {
  const V = theta.length * v;
  const keep = useQuery ? keepProb : 0, each = useQuery ? randomProb / V : 0;
  const masked = 1 - keep - each * V;
  const xLogX = (x) => (x > 0 ? x * Math.log(x) : 0);
  const overWords = (f) => theta.reduce((sum, share) => sum + v * f(share / v), 0);
  if (loss === "cross-entropy") {
    const blind = -overWords(xLogX);
    const joint = overWords((p) => xLogX(p * (keep + each)) + (V - 1) * xLogX(p * each));
    return masked * blind + overWords((p) => xLogX(keep * p + each)) - joint;
  }
  const squares = overWords((p) => p * p);
  const sharp = overWords((p) => {
    const shown = keep * p + each;
    return shown > 0 ? ((p * (keep + each)) ** 2 + (squares - p * p) * each ** 2) / shown : 0;
  });
  return masked * (1 - squares) + keep + each * V - sharp;
}

// All lines for one run. What does not apply to its settings is null.
//   bayesLoss     least loss of any predictor on long documents; under uniform attention, of one that sees no query
//   optimumLoss   the loss at the theory's optimum: the best linear layer for these documents (uniform attention), or
//                 the best attention ratio on long ones (W_V frozen at the theory's)
//   gram, values  block means { sameWord, sameTopic, differentTopic, mask } of the best Gram or value matrix for
//                 documents of this length under uniform attention (while attention learns, where stage 1 leads)
//   valuesLong    the same for long documents
//   ratio         the best attention ratio r
// All but bayesLoss are for squared loss.
export function theoryLines(settings) {
  const lines = {
    bayesLoss: bayesLoss(settings, { useQuery: settings.attention === "learned" }),
    optimumLoss: null, gram: null, values: null, valuesLong: null, ratio: null,
  };
  if (settings.loss !== "squared") return lines;
  const uniform = settings.attention === "uniform", oneHot = settings.embedding === "one-hot";
  if (oneHot && settings.value === "learned") {
    lines.values = valueOptimum(settings);
    lines.valuesLong = valueOptimum(settings, { infinite: true });
    if (uniform) lines.optimumLoss = linearLoss(settings, valueBlock(settings));
  }
  if (!oneHot && settings.value === "identity" && settings.decoder === "tied" && uniform) {
    const E = gramBlock(settings);
    if (E) [lines.gram, lines.optimumLoss] = [entries(settings, E), linearLoss(settings, E)];
  }
  if (!uniform && oneHot && settings.value !== "identity" && settings.mixture === "tau") {
    lines.ratio = optimalRatio(settings);
    if (settings.value === "theory" && !settings.bias && Number.isFinite(lines.ratio) && lines.ratio !== null) {
      lines.optimumLoss = attentionLoss(settings, lines.ratio);
    }
  }
  return lines;
}

/* What each preset is to show, and when it has shown it. */
import { numberInWords } from "./words.js";

const ENOUGH = 0.8; // of theory's gap: blocks that nobody overlooks, while the last details still grow
const NEAR = 1.25; // a ratio this many times too large or too small still passes
const LEAST_GAP = 1e-4; // below it theory has no blocks

const gapOf = (means) => (means ? means.sameTopic - means.differentTopic : NaN);

/* A verdict is {holds, words}, and `holds` is null where theory says nothing that could be judged. `byTheory` tells a
 * claim that compares with theory's value for the very settings from one that only looks for what the preset shows.
 */

/** Verdict on blocks: same topic − different topic in one matrix, beside what theory says. */
function blocks(matrix) {
  return ({ shown, theory }) => {
    const gap = gapOf(shown.views.means[matrix]);
    const due = gapOf(theory[matrix]);
    const measured = `same topic − different topic is ${numberInWords(gap)}`;
    if (!(due > LEAST_GAP)) return { holds: null, words: `theory has no blocks to compare with for these settings; ${measured}` };
    return {
      holds: gap >= ENOUGH * due,
      words: `${measured}; theory's optimum is ${numberInWords(due)} (passes from ${numberInWords(ENOUGH * due)} on)`,
    };
  };
}

/** The step from which a curve has stayed above `height`, or Infinity. */
function passes(rows, read, height) {
  let since = Infinity;
  for (const row of rows) since = read(row) > height ? Math.min(since, row.step) : Infinity;
  return since;
}

/** Whether theory's ratio is a number, and far enough from 1 to be told from no preference. */
const isPreference = (ratio) => Number.isFinite(ratio) && ratio > NEAR;

function preference({ shown, theory: { ratio } }) {
  const { ratio: measured } = shown.views;
  const given = `a word gives ${numberInWords(measured)} times as much attention to its own topic as to another (median)`;
  if (ratio === null || !Number.isFinite(ratio)) {
    return { holds: null, words: `theory has no finite best ratio for these settings; ${given}` };
  }
  const aim = isPreference(ratio) ? `the optimum for long documents is ${numberInWords(ratio)}`
    : "the optimum for long documents is no preference, as at the start: 1.00";
  return {
    holds: Math.abs(Math.log(measured / ratio)) < Math.log(NEAR),
    words: `${given}; ${aim} (passes from ${numberInWords(ratio / NEAR)} to ${numberInWords(ratio * NEAR)})`,
  };
}

function stages({ rows, theory }) {
  if (!(gapOf(theory.values) > LEAST_GAP) || !isPreference(theory.ratio)) {
    return { holds: null, words: "theory does not give both heights, of W_V's blocks and of the scores', for these settings" };
  }
  const valuesAt = passes(rows, (row) => gapOf(row.means.values), gapOf(theory.values) / 2);
  const scoresAt = passes(rows, (row) => gapOf(row.means.scores), Math.log(theory.ratio) / 2);
  const inWords = (step) => (step < Infinity ? `from step ${step} on` : "not yet");
  return {
    holds: scoresAt < Infinity && scoresAt >= 2 * valuesAt,
    words: `blocks above half of theory's height: in W_V ${inWords(valuesAt)}, in the scores ${inWords(scoresAt)} `
      + "(passes if the scores take at least twice as many steps)",
  };
}

function copying({ shown: { carriers } }) {
  const carried = carriers.filter(({ query, favourite, output }) => output === query && favourite !== query).length;
  return {
    holds: carriers.length > 0 && carried >= ENOUGH * carriers.length,
    words: `for ${carried} of ${carriers.length} words the favourite key is another word, and yet the output names the `
      + `word itself (passes from ${Math.ceil(ENOUGH * carriers.length)} words on)`,
  };
}

/** preset → its button, what it is about, the view it opens with, the step at which it stops, its verdict from {rows, shown, theory}. */
export const CLAIMS = {
  claim1: {
    button: "1 · Embeddings",
    title: "Claim 1: embeddings learn topics",
    statement: "Only the embeddings learn; attention is uniform and W_V the identity. Words of one topic come to point "
      + "the same way: their inner products form blocks.",
    view: "gram",
    until: 1500,
    verdict: blocks("gram"),
    byTheory: true,
  },
  claim2: {
    button: "2 · Values",
    title: "Claim 2: the value matrix learns topics",
    statement: "Only W_V learns; embeddings are one-hot and attention is uniform. Each word comes to vote for all words "
      + "of its topic.",
    view: "values",
    until: 2000,
    verdict: blocks("values"),
    byTheory: true,
  },
  claim3: {
    button: "3 · Attention",
    title: "Claim 3: attention prefers the topic",
    statement: "W_V is frozen at its optimum; W_K and W_Q learn. A word comes to attend to its own topic, more than to "
      + "others by a definite ratio.",
    view: "scores",
    until: 1000,
    verdict: preference,
    byTheory: true,
  },
  claim4: {
    button: "4 · Two stages",
    title: "Claim 4: first values, then attention",
    statement: "W_V, W_K and W_Q learn together from a start near zero. First the values take form under uniform "
      + "attention, then attention follows.",
    view: "values",
    until: 500,
    verdict: stages,
    byTheory: false,
  },
  thirdStage: {
    button: "5 · A third stage",
    title: "What comes after the topics",
    statement: "The same, trained on with larger steps. The blocks stay, but each word gathers its attention on one "
      + "other word of its topic, and W_V maps that carrier back to the word.",
    view: "favourites",
    until: 1000,
    verdict: copying,
    byTheory: false,
  },
};

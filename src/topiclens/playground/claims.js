/* What each preset is to show, and when it has shown it. */
import { numberInWords } from "./words.js";

const ENOUGH = 0.8; // of theory's gap: blocks that nobody overlooks, while the last details still grow

const gapOf = (means) => (means ? means.sameTopic - means.differentTopic : NaN);

/** Verdict on blocks: same topic − different topic in one matrix, beside what theory says. */
function blocks(matrix) {
  return ({ latest, theory }) => {
    const gap = gapOf(latest?.views.means[matrix]);
    const due = gapOf(theory?.[matrix]);
    if (!Number.isFinite(due)) {
      const { sameTopic, differentTopic } = latest?.views.means[matrix] ?? {};
      return { holds: sameTopic > 3 * Math.abs(differentTopic), words: "the same-topic mean must be 3 times as large as the other" };
    }
    return {
      holds: gap >= ENOUGH * due,
      words: `same topic − different topic is ${numberInWords(gap)}; theory's optimum is ${numberInWords(due)} (this passes from ${numberInWords(ENOUGH * due)} on)`,
    };
  };
}

/** The step from which a curve has stayed above `height`, or Infinity. */
function passes(rows, read, height) {
  let since = Infinity;
  for (const row of rows) since = read(row) > height ? Math.min(since, row.step) : Infinity;
  return since;
}

function preference({ latest, theory }) {
  const { ratio } = theory ?? {};
  const measured = latest?.views.ratio;
  return {
    holds: Math.abs(Math.log(measured / ratio)) < Math.log(1.25),
    words: `a word gives ${numberInWords(measured)} times as much attention to its own topic as to another (median); `
      + `the optimum for long documents is ${numberInWords(ratio)} (this passes within a quarter of it)`,
  };
}

function stages({ rows, theory }) {
  const valuesAt = passes(rows, (row) => gapOf(row.means.values), gapOf(theory?.values) / 2);
  const scoresAt = passes(rows, (row) => gapOf(row.means.scores), Math.log(theory?.ratio) / 2);
  const inWords = (step) => (step < Infinity ? `from step ${step} on` : "not yet");
  return {
    holds: scoresAt < Infinity && scoresAt >= 2 * valuesAt,
    words: `above half of theory's height: W_V's blocks ${inWords(valuesAt)}, the scores' ${inWords(scoresAt)} `
      + "(this passes if the scores take at least twice as long)",
  };
}

function copying({ latest }) {
  const carriers = latest?.carriers ?? [];
  const carried = carriers.filter(({ query, favourite, output }) => output === query && favourite !== query).length;
  return {
    holds: carriers.length > 0 && carried >= 0.8 * carriers.length,
    words: `for ${carried} of ${carriers.length} words the favourite key is another word, and yet the output names the `
      + "word itself (this passes from 80 % on)",
  };
}

/** preset → its button, what it is about, the view it opens with, the step at which it stops, and its verdict. */
export const CLAIMS = {
  claim1: {
    button: "1 · Embeddings",
    title: "Claim 1: embeddings learn topics",
    statement: "Only the embeddings learn; attention is uniform and W_V the identity. Words of one topic come to point "
      + "the same way: their inner products form blocks.",
    view: "gram",
    until: 1500,
    verdict: blocks("gram"),
  },
  claim2: {
    button: "2 · Values",
    title: "Claim 2: the value matrix learns topics",
    statement: "Only W_V learns; embeddings are one-hot and attention is uniform. Each word comes to vote for all words "
      + "of its topic.",
    view: "values",
    until: 2000,
    verdict: blocks("values"),
  },
  claim3: {
    button: "3 · Attention",
    title: "Claim 3: attention prefers the topic",
    statement: "W_V is frozen at its optimum; W_K and W_Q learn. A word comes to attend to its own topic, more than to "
      + "others by a definite ratio.",
    view: "scores",
    until: 1000,
    verdict: preference,
  },
  claim4: {
    button: "4 · Two stages",
    title: "Claim 4: first values, then attention",
    statement: "W_V, W_K and W_Q learn together from a start near zero. First the values take form under uniform "
      + "attention, then attention follows.",
    view: "values",
    until: 500,
    verdict: stages,
  },
  thirdStage: {
    button: "5 · A third stage",
    title: "What comes after the topics",
    statement: "The same, trained on with larger steps. The blocks stay, but each word gathers its attention on one "
      + "other word of its topic, and W_V maps that carrier back to the word.",
    view: "favourites",
    until: 1000,
    verdict: copying,
  },
};

// Documents drawn from a topic model, what masking makes of them, and their word counts (as topiclens.documents).
// Letters in shapes: D documents, N positions, V words, T topics, R rows, Q selected positions.
//
// Word ids run from 1 to V in topic order; id 0 is [MASK]. "ids" is V + 1, the number of them.

// Draws D documents and masks them. Of the settings it uses numTopics, wordsPerTopic, mixture, tau, alpha, length,
// maskProb, keepProb and randomProb. Returns D, N, and (D·N,) arrays: words (the true ids), shown (the ids after
// masking), selected (1 where the model must predict the true id).
export function drawDocuments(settings, D, random) {
  const { numTopics: T, wordsPerTopic: v, length: N, maskProb, keepProb, randomProb } = settings;
  const words = new Int32Array(D * N);
  const shown = new Int32Array(D * N);
  const selected = new Uint8Array(D * N);
  const topics = Int32Array.from({ length: T }, (_, t) => t);
  for (let d = 0; d < D; d++) {
    const cumulated = settings.mixture === "tau" ? null : cumulate(random.dirichlet(settings.alpha, T));
    if (!cumulated) chooseFirst(topics, settings.tau, random);
    for (let i = d * N; i < (d + 1) * N; i++) {
      let topic;
      if (cumulated) {
        const u = random.uniform();
        for (topic = 0; topic < T - 1 && u >= cumulated[topic]; topic++);
      } else {
        topic = topics[random.below(settings.tau)];
      }
      const word = 1 + topic * v + random.below(v);
      words[i] = word;
      shown[i] = word;
      if (random.uniform() < maskProb) {
        selected[i] = 1;
        const fate = random.uniform();
        if (fate >= keepProb + randomProb) shown[i] = 0;
        else if (fate >= keepProb) shown[i] = 1 + random.below(T * v);
      }
    }
  }
  return { D, N, words, shown, selected };
}

// Moves a uniformly chosen set of `count` of the array's entries to its front (the start of a Fisher-Yates shuffle).
function chooseFirst(array, count, random) {
  for (let i = 0; i < count; i++) {
    const j = i + random.below(array.length - i);
    [array[i], array[j]] = [array[j], array[i]];
  }
}

function cumulate(shares) {
  let sum = 0;
  return shares.map((share) => (sum += share));
}

// Forgets the positions of a batch: all that a layer without position encoding can use.
// Selected positions of one document that show the same id get the same prediction, so they share a row.
//
// Returns, with the counts kept sparse since a document uses few of the ids:
//   start (D+1,), ids, counts: document d shows ids[k] counts[k] times, for k from start[d] to start[d+1] − 1,
//                              among the positions that may be attended to;
//   document (R,), query (R,): the document of each row and the id that it shows;
//   row (Q,), target (Q,): the row of each selected position, in order, and its true id.
export function countWords({ D, N, words, shown, selected }, ids, seeSelected) {
  const start = new Int32Array(D + 1);
  const idList = [], countList = [], document = [], query = [], row = [], target = [];
  const seen = new Int32Array(ids);
  const asked = new Int32Array(ids);
  for (let d = 0; d < D; d++) {
    seen.fill(0);
    asked.fill(-1);
    for (let i = d * N; i < (d + 1) * N; i++) {
      if (seeSelected || !selected[i]) seen[shown[i]]++;
      if (selected[i]) asked[shown[i]] = 0;
    }
    for (let id = 0; id < ids; id++) {
      if (seen[id]) {
        idList.push(id);
        countList.push(seen[id]);
      }
      if (asked[id] === 0) {
        asked[id] = document.length;
        document.push(d);
        query.push(id);
      }
    }
    start[d + 1] = idList.length;
    for (let i = d * N; i < (d + 1) * N; i++) {
      if (selected[i]) {
        row.push(asked[shown[i]]);
        target.push(words[i]);
      }
    }
  }
  const whole = (list) => Int32Array.from(list);
  return {
    D, start, ids: whole(idList), counts: whole(countList),
    document: whole(document), query: whole(query), row: whole(row), target: whole(target),
  };
}

// One batch as word counts, drawn again in the rare case (tiny documents) that no position is selected.
export function drawBatch(settings, random) {
  for (;;) {
    const masked = drawDocuments(settings, settings.batchSize, random);
    if (masked.selected.includes(1)) {
      return countWords(masked, settings.numTopics * settings.wordsPerTopic + 1, settings.seeSelected);
    }
  }
}

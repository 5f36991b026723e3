/* Numbers and words as the page writes them. */

/** Three digits that count, with a true minus sign: "−0.0112", "7.72", "1,240". */
export function numberInWords(value) {
  if (!Number.isFinite(value)) return "not a number";
  const size = Math.abs(value);
  if (size >= 1e7) return value.toExponential(1).replace("-", "−").replace("e+", " · 10^");
  if (size >= 1000) return Math.round(value).toLocaleString("en").replace("-", "−");
  if (size < 5e-5) return "0";
  const digits = Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(size))));
  return value.toFixed(digits).replace("-", "−");
}

/** "word 12 (topic 2)" or "[MASK]". */
export function idInWords(id, wordsPerTopic) {
  return id === 0 ? "[MASK]" : `word ${id} (topic ${Math.floor((id - 1) / wordsPerTopic) + 1})`;
}

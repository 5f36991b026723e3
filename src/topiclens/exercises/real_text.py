"""Checks of the exercises on real text (book/09-real-text.ipynb)."""

import numpy as np

from . import array_complaint, call, exercise, number_complaint


@exercise
def coherence(answer):
    """NPMI of two words in 100 and 50 of 1,000 documents, 25 of them shared."""
    mutual = np.log(0.025 / (0.1 * 0.05))
    truth = mutual / -np.log(0.025)
    complaint = number_complaint(answer, truth, 0.005, "Shares of documents: p(a, b) = 0.025, p(a) = 0.1, p(b) = 0.05.")
    if complaint is None or "must be" in complaint:
        return complaint
    value = float(answer)
    if np.isclose(value, 0, atol=1e-9):
        return "That is the value for words that ignore each other; they would share 5 documents."
    if np.isclose(value, [mutual, np.log2(5)], rtol=0.005).any():
        return "That is the mutual information; it is not normalised yet."
    if np.isclose(value, -truth, rtol=0.005):
        return "The sign: −log p(a, b) is positive."
    return complaint


@exercise
def matched(answer):
    """A function (sums, pairs), both (N, 2), → ratio of same to different topic at equal distance."""
    rng = np.random.default_rng(0)
    pairs = np.array([[9.0, 3], [6, 8], [3, 30], [0, 40], [2, 0]])
    means = rng.uniform(1, 3, (5, 2))
    sums = means * pairs
    value = call(answer, "arrays (5, 2)", sums.copy(), pairs.copy())
    truth = (pairs[:3, 0] @ means[:3, 0]) / (pairs[:3, 0] @ means[:3, 1])
    complaint = number_complaint(value, truth, 1e-9, "")
    if complaint is None or complaint:
        return complaint
    plain, both = sums.sum(0) / pairs.sum(0), sums[:3].sum(0) / pairs[:3].sum(0)
    usual = {
        "That is the ratio of all pairs: distances are not matched.": [plain[0] / plain[1], both[0] / both[1]],
        "You weight by the different-topic pairs; it must be the same-topic ones.": [
            (pairs[:3, 1] @ means[:3, 0]) / (pairs[:3, 1] @ means[:3, 1])
        ],
        "You give each distance the same weight.": [means[:3, 0].sum() / means[:3, 1].sum()],
        "You average ratios; take the ratio of two averages.": [
            pairs[:3, 0] @ (means[:3, 0] / means[:3, 1]) / pairs[:3, 0].sum(),
            (means[:3, 0] / means[:3, 1]).mean(),
        ],
        "That is the attention to different topics over that to the same one.": [1 / truth],
    }
    for said, wrong in usual.items():
        if np.isclose(float(value), wrong, rtol=1e-9).any():
            return said
    return "The number is off. Distances where one of the two kinds has no pair must not count, for either mean."


def subjects(answer, corpus, leads, measured, attentions) -> None:
    """(labels, ratio): words by the subject of their articles, and the attention ratio at equal distance.

    The rest is the chapter's: counts, documents, the numbers of those left out, and their attention.
    """
    from ..encoder import sum_by_relation

    kept = np.setdiff1d(np.arange(len(leads)), measured)

    def shares(rows):
        subject = np.array([leads[i].subject for i in rows])
        kinds = sorted(set(subject))
        counts = np.stack([np.asarray(corpus.counts[rows[subject == s]].sum(0), float).ravel() for s in kinds])
        p = counts / counts.sum(1, keepdims=True)
        return counts, p / np.maximum(p.sum(0), 1e-12)

    def same_classes(labels, share):
        """Are these the classes of the shares, whatever numbers they go by?"""
        clear, own = share.max(0) >= 0.5, share.argmax(0)
        if not np.array_equal(labels >= 0, clear):
            return False
        pairs = set(zip(labels[clear].tolist(), own[clear].tolist(), strict=True))
        return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})

    @exercise
    def check(answer):
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            return "The answer must be a pair: labels (V,) and the ratio."
        labels, ratio = answer
        complaint = array_complaint(labels, np.ones(len(corpus.words)), np.inf, "")
        if complaint:
            return complaint
        labels = np.asarray(labels)
        if not np.issubdtype(labels.dtype, np.integer):
            return f"Labels must be whole numbers, not {labels.dtype}."
        counts, share = shares(kept)
        if not same_classes(labels, share):
            if same_classes(labels, shares(np.arange(len(leads)))[1]):
                return "The measured documents have a say in your labels; leave them out."
            if same_classes(labels, counts / np.maximum(counts.sum(0), 1e-12)):
                return "You take shares of counts: large subjects win. First p(w | s), then shares."
            if (labels >= 0).all():
                return "All words have a label; those with a share below 0.5 must get −1."
            return "These are not the labels that shares of p(w | subject) give at 0.5."
        truth = sum_by_relation(attentions, labels).matched_ratio()
        if number_complaint(ratio, sum_by_relation(attentions, labels).ratio(), 1e-3, "off") is None:
            return "That is the ratio of all pairs; the question is about equal distance."
        return number_complaint(ratio, truth, 1e-3, "The labels are right; the ratio is not: use matched_ratio().")

    check(answer)

"""Checks of chapter 2, masked words."""

from collections.abc import Callable

import numpy as np
from scipy.stats import binom

from ..documents import Masking
from ..theory import bayes_loss_long, shown_shares
from . import array_complaint, call, exercise

SHARE_MASKING, SHARE_LENGTH = Masking(mask_prob=0.2, keep_prob=0.1, random_prob=0.3), 150
T, WORDS_PER_TOPIC, TAU = 10, 10, 4
TOLERANCE = 0.003  # of the floors; taking only [MASK] for hidden is 0.0045 off at N = 8, and hardly anywhere else


@exercise
def mask_share(answer) -> str | None:
    """The pair (c, expected number of [MASK] in a document) for SHARE_MASKING and SHARE_LENGTH."""
    p_m = SHARE_MASKING.mask_prob
    c = shown_shares(SHARE_MASKING)[2]
    complaint = array_complaint(answer, np.array([c, c * SHARE_LENGTH]), 1e-9, "")
    if complaint is None or complaint:
        return complaint
    share, _ = np.asarray(answer, float)
    if np.isclose(share, p_m):
        return "Your share is that of the selected positions; some of those show a word."
    if np.isclose(share, SHARE_MASKING.hide_prob):
        return "Your share is among the selected positions; c is among all positions."
    if not np.isclose(share, c):
        return "The share c is wrong: how likely is it that a position is selected, and that it then shows no word?"
    return "The share is right, the number is not: every one of the N positions shows [MASK] with the probability c."


@exercise
def posterior(answer) -> str | None:
    """A function (keep_prob, random_prob, num_topics, tau, words_per_topic) → P(true word = shown word)."""
    cases = [
        # (setting, what to say if it fails); the easiest first
        ((0.1, 0.0, 10, 4, 10), "With random_prob = 0 every word that a selected position shows is a kept one."),
        ((0.0, 0.1, 10, 4, 10), "With keep_prob = 0 the shown word tells nothing: the topics of the document remain."),
        ((0.1, 0.1, 10, 10, 10), "With tau = num_topics every random word falls into a topic of the document."),
        ((0.1, 0.1, 10, 4, 10), ""),
        ((0.3, 0.2, 7, 2, 5), ""),
        ((0.05, 0.4, 20, 3, 4), ""),
    ]
    for setting, hint in cases:
        value, complaint = _value(answer, setting)
        if complaint:
            return complaint
        if np.isclose(value, _believed(*setting), rtol=1e-6):
            continue
        return _known_mistake(answer) or f"For {setting} you give {value:.4f}. {hint}".strip()
    return None


def _believed(keep_prob, random_prob, num_topics, tau, v, fitting=True, lucky=True):
    """P(true word = shown word); without the evidence of the fitting topic, or a random word's luck, if asked to."""
    random = random_prob * tau / num_topics if fitting else random_prob
    kept = keep_prob / (keep_prob + random)
    return kept + lucky * (1 - kept) / (tau * v)


def _known_mistake(answer) -> str | None:
    """What a wrong posterior leaves out, told where both coins can fall and the topic's fit is evidence."""
    settings = (0.1, 0.1, 10, 4, 10), (0.3, 0.2, 7, 2, 5)
    values = [_value(answer, setting)[0] for setting in settings]

    def given(**left_out):
        return np.allclose(values, [_believed(*setting, **left_out) for setting in settings], rtol=1e-6, atol=0)

    if given(lucky=False):
        return (
            "You give the probability that the word was kept. "
            "If it was not, the true word can still happen to be the shown one."
        )
    if given(fitting=False) or given(fitting=False, lucky=False):
        return (
            "You compare the two coins alone. We also know that the shown word's topic is in the document: "
            "how often would that be so for a random word?"
        )
    return None


@exercise
def finite_floor(answer) -> str | None:
    """A function N → least cross-entropy at a position that shows [MASK], default documents of N words."""
    masking = Masking()
    long = bayes_loss_long(T, WORDS_PER_TOPIC, TAU, masking, "cross-entropy", use_query=False)
    for N in (1, 2, 8, 10, 40):
        value, complaint = _value(answer, (N,))
        if complaint:
            return complaint
        truth = _floor(_unselected(N, masking.mask_prob))
        if abs(value - truth) <= TOLERANCE * truth:
            continue
        if N == 1:
            return f"For N = 1 you give {value:.4f}. The document's one word is hidden: what is known of its topic?"
        if abs(value - long) <= 1e-6 * long:
            return f"For N = {N} you give the line of long documents, in which every topic has been seen."
        only_masks_hide = _unselected(N, masking.mask_prob * masking.hide_prob)
        for visible, mistake in (
            ({N: 1.0}, "all N positions show their word, the one in question included"),
            ({N - 1: 1.0}, "all other positions show their word; some of them are selected, too"),
            (only_masks_hide, "only [MASK] hides a word; a selected position's word is not gone by, whatever it shows"),
        ):
            if abs(value - _floor(visible)) <= 0.001 * truth:
                return f"For N = {N} you seem to say that {mistake}."
        return f"For N = {N} you give {value:.4f}, which is too {'high' if value > truth else 'low'}."
    return None


def _value(function: Callable, arguments: tuple) -> tuple[float, str | None]:
    """The number that a reader's function returns, or a complaint."""
    result = call(function, str(arguments), *arguments)
    try:
        value = np.asarray(result, float)
    except (TypeError, ValueError, RuntimeError):
        value = None
    if result is None or value is None or value.size != 1:
        return np.nan, f"Called with {arguments}, your function must return a number, not {type(result).__name__}."
    value = value.item()
    if not np.isfinite(value):
        return np.nan, f"Called with {arguments}, your function returns {value}."
    return value, None


def _unselected(N: int, mask_prob: float) -> dict[int, float]:
    """How likely it is that m of the N−1 other positions are not selected."""
    m = np.arange(N)
    return dict(zip(m.tolist(), binom.pmf(m, N - 1, 1 - mask_prob).tolist(), strict=True))


def _floor(visible: dict[int, float]) -> float:
    """Least cross-entropy at [MASK] if m words are seen with the probability visible[m], by counting topics seen."""
    floor = 0.0
    for m, chance in visible.items():
        seen = np.zeros(TAU + 1)  # the probability that k of the document's topics have been seen
        seen[0] = 1
        for _ in range(m):
            k = np.arange(TAU + 1)
            seen = seen * k / TAU + np.append(0, (seen * (1 - k / TAU))[:-1])
        for k in range(TAU + 1):
            loss = k / TAU * np.log(TAU)
            if k < TAU:
                loss += (1 - k / TAU) * np.log(TAU * (T - k) / (TAU - k))
            floor += chance * seen[k] * loss
    return float(floor + np.log(WORDS_PER_TOPIC))

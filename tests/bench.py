"""`make bench`: what the fast paths gain, as ratios within one run, on one core.

Ratios say the same on a slow and on a fast machine; seconds do not, and no test reads them.
"""

import time
from pathlib import Path

import nbformat
import numpy as np
import torch
from nbclient import NotebookClient

from topiclens.documents import MASK, PAD, Dirichlet, Masking, TopicModel, count_words, mask_documents
from topiclens.measures import attention_by_relation
from topiclens.model import TopicTransformer
from topiclens.training import loss_of

TOPICS, MASKING = TopicModel(mixture=Dirichlet(0.1), length=(100, 150)), Masking()


def seconds(action, repeats: int = 5, calls: int = 1) -> float:
    """Least time of `repeats`, per call, after one call to warm up."""
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            action()
        times.append((time.perf_counter() - start) / calls)
    return min(times)


def sample_word_by_word(num_documents: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(num_documents):
        theta = rng.dirichlet(np.full(10, 0.1))
        for _ in range(rng.integers(100, 151)):
            topic = rng.choice(10, p=theta)
            rng.choice(100, p=TOPICS.topic_word[topic])


def sampling() -> str:
    slow = seconds(lambda: sample_word_by_word(100), repeats=1) / 100
    fast = seconds(lambda: TOPICS.sample(10_000, 0)) / 10_000
    return (
        f"sampling a document: {slow / fast:.0f}× faster than word by word with choice (bound 300); {fast * 1e6:.1f} µs"
    )


def training_step() -> str:
    masked = mask_documents(TOPICS.sample(40, 0).words, MASKING, 100, 1)
    target = masked.words[masked.selected]

    def step(by_counts: bool):
        model = TopicTransformer(100)
        descent = torch.optim.Adam(model.parameters(), fused=True)

        def one():
            if by_counts:
                batch = count_words(masked, 100, model.see_selected)
                loss = loss_of(model.forward_counts(batch), batch.row, batch.target, "cross-entropy")
            else:
                loss = loss_of(model(masked), np.arange(len(target)), target, "cross-entropy")
            descent.zero_grad()
            loss.backward()
            descent.step()

        return seconds(one, calls=20)

    square = torch.rand(1024, 1024)
    positions, counts, product = step(False), step(True), seconds(lambda: square @ square, calls=5)
    return (
        f"training step, 40 documents of about 125 words: {positions / counts:.1f}× faster by counts than by "
        f"positions (bound 5); it costs {counts / product:.3f} of a 1024² float32 product ({counts * 1e3:.2f} ms)"
    )


def loop_over_pairs(attention, masked, num_documents: int) -> None:
    totals, pairs = np.zeros((2, 3)), np.zeros((2, 3))
    for d in range(num_documents):
        for q, query in enumerate(masked.shown[d]):
            if query == PAD:
                continue
            kind, word = (1, masked.words[d, q]) if query == MASK else (0, query)
            for k, key in enumerate(masked.shown[d]):
                if key in (PAD, MASK):
                    continue
                relation = 0 if key == word else 1 if (key - 1) // 10 == (word - 1) // 10 else 2
                totals[kind, relation] += attention[d, q, k]
                pairs[kind, relation] += 1


def attention() -> str:
    masked = mask_documents(TOPICS.sample(500, 0).words, MASKING, 100, 1)
    with torch.no_grad():
        weights = TopicTransformer(100, init_scale=0.3).attention(masked).numpy()
    slow = seconds(lambda: loop_over_pairs(weights, masked, 5), repeats=2) / 5
    fast = seconds(lambda: attention_by_relation(weights, masked, TOPICS.word_topics)) / 500
    return f"attention by relation: {slow / fast:.0f}× faster than a loop over pairs of tokens (bound 100)"


def chapters() -> list[str]:
    lines = []
    for path in sorted(Path(__file__).parent.parent.glob("book/*.ipynb")):
        start = time.perf_counter()
        NotebookClient(nbformat.read(path, as_version=4), timeout=300, kernel_name="python3").execute()
        lines.append(f"running {path.name}: {time.perf_counter() - start:.1f} s (bound 30)")
    return lines


if __name__ == "__main__":
    torch.set_num_threads(1)
    for measure in (sampling, training_step, attention):
        print(measure(), flush=True)
    for line in chapters():
        print(line, flush=True)

"""`make bench`: what the fast paths gain, as ratios within one run, on one core.

Ratios say the same on a slow and on a fast machine; seconds do not.
"""

import os
import resource
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import nbformat
import numpy as np
import torch
from nbclient import NotebookClient
from playwright.sync_api import sync_playwright
from torch.func import stack_module_state, vmap

from booksite.pdf import ARGUMENTS, find_chromium
from booksite.serve import SITE, make_server
from topiclens.claims import train_values
from topiclens.documents import MASK, PAD, Dirichlet, Masking, TopicModel, count_words, mask_documents
from topiclens.grid import settings_grid, train_grid
from topiclens.measures import attention_by_relation, between_words, block_means
from topiclens.model import TopicTransformer
from topiclens.playground import source
from topiclens.theory import finite_value_blocks, value_optimum
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


def step_seconds(topics: TopicModel, by_counts: bool, calls: int = 20) -> float:
    """A training step of 40 documents, everything learned, keys hidden; drawing the documents is left out."""
    masked = mask_documents(topics.sample(40, 0).words, MASKING, topics.num_words, 1)
    target = masked.words[masked.selected]
    model = TopicTransformer(topics.num_words, see_selected=False)
    descent = torch.optim.Adam(model.parameters(), fused=True)

    def step():
        if by_counts:
            batch = count_words(masked, topics.num_words, False)
            loss = loss_of(model.forward_counts(batch), batch.row, batch.target, "cross-entropy")
        else:
            loss = loss_of(model(masked), np.arange(len(target)), target, "cross-entropy")
        descent.zero_grad()
        loss.backward()
        descent.step()

    return seconds(step, calls=calls)


def training_step() -> str:
    square = torch.rand(1024, 1024)
    product = seconds(lambda: square @ square, calls=5)
    positions, counts = (step_seconds(TOPICS, by_counts) for by_counts in (False, True))
    masked = mask_documents(TOPICS.sample(40, 0).words, MASKING, 100, 1)
    rows = len(count_words(masked, 100, False).document)
    # Forward: five products of 101³ and one of rows × 101²; backward twice as much.
    arithmetic = 3 * 2 * (5 * 101**3 + rows * 101**2) / (2 * 1024**3) * product
    return (
        f"training step, 40 documents of about 125 words: {positions / counts:.1f}× faster by counts than by "
        f"positions (bound 12); it costs {counts / product:.3f} of a 1024² float32 product ({counts * 1e3:.2f} ms), "
        f"{counts / arithmetic:.1f}× its own arithmetic (bound 3)"
    )


def counting_seconds(topics: TopicModel) -> float:
    masked = mask_documents(topics.sample(40, 0).words, MASKING, 100, 1)
    return seconds(lambda: count_words(masked, 100, False))


def long_documents() -> str:
    short, long = (
        step_seconds(t, True) - counting_seconds(t) for t in (TopicModel(length=128), TopicModel(length=8192))
    )
    return f"a step from N = 128 to 8,192, apart from counting words: {long / short:.1f}× (aim 1.5)"


LARGE = TopicModel(100, 20)  # V = 2,000


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def large_step() -> tuple[float, float]:
    """Seconds a step, everything learned, and peak memory."""
    torch.set_num_threads(1)
    return step_seconds(LARGE, True, calls=1), peak_megabytes()


def large_values(steps: int = 600) -> tuple[float, float, float]:
    """W_V alone: seconds a step, peak memory, and the matrix trained over theory, on differences between topics."""
    torch.set_num_threads(1)
    start = time.perf_counter()
    W = train_values(topics=LARGE, steps=steps, lr=0.002, batch_size=64, checkpoints=[steps], progress=False).final(
        "W_V"
    )
    spent, peak = (time.perf_counter() - start) / steps, peak_megabytes()
    means, exact = block_means(between_words(W), LARGE.word_topics), finite_value_blocks(LARGE, Masking())
    trained, theory = (m.same_word - m.same_topic + 20 * (m.same_topic - m.different_topic) for m in (means, exact))
    return spent, peak, trained / theory


def large_gradient(documents: int = 60_000) -> dict[str, list[float]]:
    """Is the gradient of the sampled loss 0 at theory's W_V, and not at 1.05 times it? In standard errors.

    Along a direction U in which W_V acts as s·U, the gradient is the mean of s|U x̄|² − (U x̄)[true word].
    """
    word, same, different, _ = finite_value_blocks(LARGE, Masking())
    delta, rho, rng = word - same, word - same + 20 * (same - different), np.random.default_rng(0)
    parts = {"within topics": [], "between topics": []}
    for _ in range(documents // 1000):
        batch = count_words(mask_documents(LARGE.sample(1000, rng).words, Masking(), 2000, rng), 2000, True)
        seen = batch.counts[:, 1:] / batch.counts.sum(1, keepdims=True)
        mean = seen.reshape(1000, 100, 20).mean(2).repeat(20, axis=1)
        for name, U in (
            ("within topics", delta * (seen - mean)),
            ("between topics", rho * (mean - mean.mean(1)[:, None])),
        ):
            document, square = batch.document[batch.row], (U**2).sum(1)
            number = np.bincount(document, minlength=1000)
            at_truth = np.bincount(document, U[document, batch.target - 1], minlength=1000)
            parts[name].append([number * square - at_truth, 1.05 * number * square - at_truth])
    totals = {name: np.concatenate(values, axis=1) for name, values in parts.items()}
    return {name: (t.mean(1) / t.std(1) * np.sqrt(t.shape[1])).tolist() for name, t in totals.items()}


def large_vocabulary() -> str:
    step, memory = in_new_process(large_step)
    alone, less, ratio = in_new_process(large_values)
    start = time.perf_counter()
    value_optimum(LARGE, Masking())
    solved = time.perf_counter() - start
    gradients = "; ".join(f"{k} {at:+.1f} and {off:+.1f}" for k, (at, off) in large_gradient().items())
    return (
        f"V = 2,000 words (T = 100, v = 20): a step {step:.2f} s, peak memory {memory:.0f} MB, everything learned; "
        f"W_V alone {alone:.3f} s, {less:.0f} MB\n"
        f"    W_V trained for 600 steps, over theory, between topics: {ratio:.3f}; value_optimum {solved:.1f} s\n"
        f"    gradient in standard errors, at theory's W_V and at 1.05 times it: {gradients}"
    )


def in_new_process(measure):
    """Where peak memory is the measure's own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure).result()


def stacked_rate(K: int, steps: int) -> float:
    """Runs × steps a second of K models in one batched computation, on documents that they share (as they must)."""
    models = [TopicTransformer(100, embedding="one-hot", decoder="identity", seed=seed) for seed in range(K)]
    parameters, _ = stack_module_state(models)
    descent = torch.optim.Adam(parameters.values(), lr=0.003, fused=True)
    rng, topics = np.random.default_rng(0), TopicModel()

    def logits(parameters, query, log_counts):
        scores = parameters["W_Q"].T @ parameters["W_K"] / 101**0.5
        return (scores[query] + log_counts).softmax(1) @ parameters["W_V"].T + parameters["b"]

    start = time.perf_counter()
    for _ in range(steps):
        batch = count_words(mask_documents(topics.sample(64, rng).words, Masking(), 100, rng), 100, True)
        log_counts = torch.as_tensor(batch.counts).log()[torch.as_tensor(batch.document)]
        outputs = vmap(logits, in_dims=(0, None, None))(parameters, torch.as_tensor(batch.query), log_counts)
        losses = vmap(lambda output, batch=batch: loss_of(output, batch.row, batch.target, "cross-entropy"))(outputs)
        descent.zero_grad()
        losses.sum().backward()
        descent.step()
    return K * steps / (time.perf_counter() - start)


def process_rate(K: int, steps: int) -> float:
    settings = settings_grid(
        embedding=["one-hot"], decoder=["identity"], seed=range(K), steps=[steps], checkpoints=[[steps]]
    )
    start = time.perf_counter()
    train_grid(settings, progress=False)
    return K * steps / (time.perf_counter() - start)


def stacked() -> str:
    process_rate(2, 2)  # starts the processes
    parts = []
    for K in (8, 16, 48):
        processes = process_rate(K, 200)
        ratios = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            ratios.append(stacked_rate(K, 400 // K) / processes)
        parts.append(f"K = {K}: {ratios[0]:.2f}× and {ratios[1]:.2f}×")
    torch.set_num_threads(1)
    return f"K runs stacked into one computation, 1 and 2 threads, over processes on all cores: {'; '.join(parts)}"


def grid() -> str:
    start = time.perf_counter()
    runs = train_grid(settings_grid(embedding=["one-hot"], decoder=["identity"], seed=range(48), steps=[1000]))
    spent = time.perf_counter() - start
    return f"48 runs of 1,000 steps, {sum(run.error is None for run in runs)} ended well: {spent:.0f} s (bound 60)"


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


def in_page() -> str:
    """Best of 40 stretches of 5 steps, so that what else runs on the machine counts little."""
    executable = find_chromium()
    if executable is None:
        return "training in the page: no Chromium to measure it in"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        page = browser.new_page()
        page.add_script_tag(content=source())
        speeds = page.evaluate(
            """() => Object.entries(presets).map(([name, {settings}]) => {
              const trainer = new Trainer(settings);
              let best = Infinity;
              for (let stretch = 0; stretch < 40; stretch++) {
                const start = performance.now();
                for (let step = 0; step < 5; step++) trainer.step();
                best = Math.min(best, performance.now() - start);
              }
              return [name, 5 * settings.batchSize / best * 1000];
            })"""
        )
        browser.close()
    listed = ", ".join(f"{name} {speed:,.0f}" for name, speed in speeds)
    return f"training in the page, documents a second by preset: {listed} (bound for claim4: 3,000)"


def first_page_seconds() -> tuple[float, float]:
    """From opening the first page to its figure's first move, and until the figure answers to the reader."""
    if hasattr(os, "sched_setaffinity"):  # Linux
        os.sched_setaffinity(0, {0})
    server = make_server(SITE, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        page = browser.new_page()
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
        page.add_init_script(
            """new MutationObserver(() => {
              const figure = document.querySelector(".book-figure");
              window.start ??= figure?.querySelector("canvas")?.getAnimations()[0]?.startTime;
              if (figure?.dataset.state === "drawn") window.drawn ??= performance.now();
            }).observe(document, { subtree: true, childList: true, attributes: true })"""
        )
        page.goto(f"http://127.0.0.1:{server.server_port}/book/intro.html")
        page.wait_for_function("window.drawn", timeout=0)
        start, drawn = page.evaluate("[start, drawn]")
        browser.close()
    server.shutdown()
    return (start + 250) / 1000, drawn / 1000  # its second matrix comes after 250 ms


def first_page() -> str:
    """Least of three, each in a new browser."""
    if find_chromium() is None or not (SITE / "index.html").exists():
        return "the first page: no Chromium to measure it in, or no site (make html)"
    moves, drawn = map(min, zip(*(in_new_process(first_page_seconds) for _ in range(3)), strict=True))
    return (
        f"the first page on one core, slowed down four times: its figure moves after {moves:.1f} s (bound 3) and "
        f"answers after {drawn:.1f} s"
    )


def chapters() -> list[str]:
    lines = []
    for path in sorted(Path(__file__).parent.parent.glob("book/*.ipynb")):
        start = time.perf_counter()
        NotebookClient(nbformat.read(path, as_version=4), timeout=300, kernel_name="python3").execute()
        lines.append(f"running {path.name}: {time.perf_counter() - start:.1f} s (bound 30)")
    return lines


if __name__ == "__main__":
    torch.set_num_threads(1)
    for measure in (
        sampling,
        training_step,
        long_documents,
        large_vocabulary,
        attention,
        in_page,
        first_page,
        stacked,
        grid,
    ):
        print(measure(), flush=True)
    for line in chapters():
        print(line, flush=True)

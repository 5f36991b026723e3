/* The training side of the playground, in a thread of its own: trains in short slices and answers messages.
 * Knows the trainer; knows no page.
 *
 * It hears   {type: "start", settings, document}   once, first
 *            {type: "run", until, interval}         train on to step `until`, a snapshot every `interval` ms
 *            {type: "pause"}
 *            {type: "look", document}               show another document's attention
 *            {type: "seen"}                         the page has drawn the last snapshot
 * and says   {type: "snapshot", step, running, losses, matrices, views, attention, carriers}
 *            {type: "stopped", step, message}       the loss is no number any more
 *            {type: "failed", message}
 */
import { Trainer, DivergedError } from "./trainer.js";

const SLICE = 30; // milliseconds of training between two looks at the messages
const SNAPSHOT_SHARE = 0.2; // of the time at most goes into snapshots between milestones

/** The steps that every run records, whatever the machine's speed: all up to 10, then about 8 % more each time. */
export function isMilestone(step) {
  if (step <= 10) return true;
  const rank = Math.floor(Math.log(step / 10) / Math.log(1.08) + 1e-9);
  return step === Math.ceil(10 * 1.08 ** rank - 1e-9);
}

/** Answers the messages that arrive at `scope`, the worker's global object. */
export function serveTraining(scope) {
  let trainer, document, losses = [];
  let running = false, until = 0, interval = 100, waiting = false, sentAt = 0, cost = 0;

  // A message to oneself: lets messages from the page in between, without the wait that setTimeout adds.
  const again = new MessageChannel();
  again.port1.onmessage = () => guarded(slice);

  function send() {
    const begin = performance.now();
    const { composed, ...views } = trainer.views(); // the first is not shown
    const message = {
      type: "snapshot",
      step: trainer.stepCount,
      running,
      losses: Float32Array.from(losses),
      matrices: trainer.matrices(),
      views,
      document,
      attention: trainer.attention(document),
      carriers: trainer.carriers(),
    };
    losses = [];
    scope.postMessage(message);
    waiting = true;
    sentAt = performance.now();
    cost = sentAt - begin;
  }

  function slice() {
    if (!running) return;
    const end = performance.now() + SLICE;
    do {
      losses.push(trainer.step());
      running = trainer.stepCount < until;
      if (!running || isMilestone(trainer.stepCount)) send();
    } while (running && performance.now() < end);
    if (!running) return;
    const pause = Math.max(interval, cost / SNAPSHOT_SHARE);
    if (!waiting && performance.now() - sentAt >= pause) send();
    again.port2.postMessage(null);
  }

  const answers = {
    start({ settings, document: number }) {
      document = number;
      trainer = new Trainer(settings);
      send();
    },
    run(message) {
      ({ until, interval } = message);
      if (running || trainer.stepCount >= until) return;
      running = true;
      slice();
    },
    pause() {
      if (!running) return;
      running = false;
      send();
    },
    look({ document: number }) {
      document = number;
      send();
    },
    seen() {
      waiting = false;
    },
  };

  function guarded(action) {
    try {
      action();
    } catch (error) {
      running = false;
      const diverged = error instanceof DivergedError;
      scope.postMessage({ type: diverged ? "stopped" : "failed", step: error.step, message: error.message });
    }
  }

  scope.onmessage = ({ data }) => guarded(() => answers[data.type](data));
}

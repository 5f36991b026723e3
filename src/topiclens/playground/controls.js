/* The form of settings: a table of controls, each with its label and a place for what is wrong with it. */
import { checkSettings } from "./trainer.js";

export const MOST_STEPS = 1e6;

const LEARNED = { learned: "learned" };

// name → how it is asked for. `when` says for which settings a control has a meaning.
const GROUPS = {
  Documents: {
    numTopics: { label: "Topics, T", symbol: "T" },
    wordsPerTopic: { label: "Words of each topic, v", symbol: "v" },
    mixture: { label: "Topics of a document", choices: { tau: "τ topics in equal parts", dirichlet: "Dirichlet(α)" } },
    tau: { label: "Topics in a document, τ", symbol: "τ", when: ({ mixture }) => mixture === "tau" },
    alpha: { label: "Concentration, α", symbol: "α", when: ({ mixture }) => mixture === "dirichlet" },
    length: { label: "Words in a document, N", symbol: "N" },
  },
  Masking: {
    maskProb: { label: "Selected positions, share" },
    keepProb: { label: "Of these, keep their word" },
    randomProb: { label: "Of these, show a random word" },
    seeSelected: { label: "Attention to selected positions", choices: { true: "visible", false: "hidden" } },
  },
  Layer: {
    embedding: { label: "Embeddings W_E", choices: { ...LEARNED, "one-hot": "one-hot, frozen" } },
    value: {
      label: "Values W_V",
      choices: { ...LEARNED, identity: "identity, frozen", theory: "theory's optimum, frozen" },
    },
    attention: { label: "Attention W_K, W_Q", choices: { ...LEARNED, uniform: "uniform, frozen" } },
    decoder: { label: "Decoder", choices: { tied: "tied to W_E", identity: "identity" } },
    bias: { label: "Bias", choices: { true: "learned", false: "none" } },
  },
  Training: {
    loss: { label: "Loss", choices: { squared: "squared error", "cross-entropy": "cross-entropy" } },
    optimizer: { label: "Optimiser", choices: { adam: "Adam", sgd: "SGD" } },
    lr: { label: "Learning rate" },
    batchSize: { label: "Documents a step" },
    initScale: { label: "Scale of the start" },
    seed: { label: "Seed" },
    until: { label: "Stop at step" },
  },
};

/** What is wrong with `settings`, as {field, message}, or null. `until` is the page's own setting. */
export function faultOf(settings) {
  const { until, ...rest } = settings;
  if (!Number.isInteger(until) || until < 1 || until > MOST_STEPS) {
    const message = inTheReadersWords(`until = ${until} must be a whole number between 1 and ${MOST_STEPS}.`);
    return { field: "until", message };
  }
  try {
    checkSettings(rest);
    return null;
  } catch (error) {
    if (error.field === undefined) throw error;
    return { field: error.field, message: inTheReadersWords(error.message) };
  }
}

/* Settings as the form calls them: "τ = 12 must be at most T = 10." */
function inTheReadersWords(message) {
  let words = message;
  for (const group of Object.values(GROUPS)) {
    for (const [name, { label, symbol }] of Object.entries(group)) {
      words = words.replaceAll(new RegExp(`\\b${name}\\b`, "g"), symbol ?? `“${label}”`);
    }
  }
  return words.replace(" = NaN must", " must");
}

/** The form. Calls `changed(settings)` with what the reader has entered, right or wrong. */
export class Controls {
  constructor(element, prefix, changed) {
    this.inputs = {};
    this.faults = {};
    this.settings = {};
    this.element = element("div", { className: "tl-controls" });
    for (const [title, group] of Object.entries(GROUPS)) {
      const fields = element("fieldset", {}, element("legend", {}, title));
      for (const [name, { label, choices }] of Object.entries(group)) {
        const id = `${prefix}-${name}`;
        const input = choices
          ? element("select", { id }, ...Object.entries(choices).map(([value, text]) => element("option", { value }, text)))
          : element("input", { id, type: "text", inputMode: "decimal", autocomplete: "off" });
        const fault = element("p", { className: "tl-fault", id: `${id}-fault`, hidden: true });
        input.onchange = () => {
          this.settings = { ...this.settings, [name]: this.valueOf(name) };
          changed(this.settings);
        };
        const row = element("div", { className: "tl-row" }, element("label", { htmlFor: id }, label), input, fault);
        Object.assign(this.inputs, { [name]: input });
        Object.assign(this.faults, { [name]: fault });
        fields.append(row);
      }
      this.element.append(fields);
    }
  }

  valueOf(name) {
    const text = this.inputs[name].value.trim();
    if (typeof this.settings[name] === "boolean") return text === "true";
    if (typeof this.settings[name] === "number") return text ? Number(text.replace(",", ".")) : NaN;
    return text;
  }

  /** Show settings, and beside its control what is wrong with one of them. */
  show(settings, fault) {
    this.settings = settings;
    for (const [name, input] of Object.entries(this.inputs)) {
      if (!Number.isNaN(settings[name])) input.value = String(settings[name]); // else what was typed stays
      const wrong = fault?.field === name;
      this.faults[name].hidden = !wrong;
      this.faults[name].textContent = wrong ? fault.message : "";
      input.setAttribute("aria-invalid", wrong);
      if (wrong) input.setAttribute("aria-describedby", this.faults[name].id);
      else input.removeAttribute("aria-describedby");
    }
    for (const group of Object.values(GROUPS)) {
      for (const [name, { when }] of Object.entries(group)) {
        if (when) this.inputs[name].parentElement.hidden = !when(settings);
      }
    }
  }
}

/* Settings as the part of an address behind "#", and back. */

/** "tau=2&lr=0.01" of what in `settings` is not as in `base`, then what is in `extra`. */
export function toFragment(settings, base, extra) {
  const changed = Object.entries(settings).filter(([name, value]) => value !== base[name]);
  return new URLSearchParams([...Object.entries(extra), ...changed]).toString();
}

/** The settings in a fragment, of the kinds that `base` has, and the rest as it stands. A number that is none is NaN. */
export function fromFragment(fragment, base) {
  const settings = {}, rest = {};
  for (const [name, text] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (!Object.hasOwn(base, name)) rest[name] = text;
    else if (typeof base[name] === "number") settings[name] = text.trim() ? Number(text) : NaN;
    else if (typeof base[name] === "boolean") settings[name] = text === "true";
    else settings[name] = text;
  }
  return { settings, rest };
}

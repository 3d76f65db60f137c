// Colours for canvases, from the style sheet.

const COUNT = 8; // colours of parts; a ninth part has the first one again
const NAMES = ["card", "ink", "soft", "line", "edge", "note", "gap", "accent", "pin", "black-key"];
const place = (part) => ((part - 1) % COUNT) + 1;

// The colour of a part, counted from 1, in a style sheet.
export const variable = (part) => (part ? `var(--part-${place(part)})` : "var(--note)");

export function palette() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const parts = Array.from({ length: COUNT }, (_, n) => value(`part-${n + 1}`));
  const colour = Object.fromEntries(NAMES.map((name) => [name, value(name)]));
  return { ...colour, part: (number) => (number ? parts[place(number) - 1] : colour.note) };
}

// Between two colours that are written as #rrggbb or #rgb.
export function mix(from, to, share) {
  const [a, b] = [parsed(from), parsed(to)];
  return `rgb(${a.map((value, n) => Math.round(value + (b[n] - value) * share)).join(" ")})`;
}

function parsed(colour) {
  const long = colour.length === 4 ? colour.replace(/\w/g, "$&$&") : colour;
  return [1, 3, 5].map((at) => parseInt(long.slice(at, at + 2), 16));
}

// Small pieces of HTML, and numbers as people read them.

export function element(name, { text, label, ...properties } = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  if (label !== undefined) made.setAttribute("aria-label", label);
  made.append(...children);
  return made;
}

// A row that can be chosen: a sign, and how probable it is, as a number and as a bar.
export function bar(sign, told, probability, { pressed, choose }) {
  const button = element(
    "button",
    { type: "button" },
    element("span", { className: "sign", text: sign }),
    element("span", { text: told }),
  );
  button.style.setProperty("--p", probability);
  if (pressed !== undefined) button.setAttribute("aria-pressed", pressed);
  button.addEventListener("click", choose);
  return element("li", {}, button);
}

export function percent(p) {
  if (p >= 0.995) return p === 1 ? "100 %" : "> 99 %";
  if (p >= 0.1) return `${Math.round(100 * p)} %`;
  if (p >= 0.001) return `${(100 * p).toPrecision(2)} %`;
  if (p <= 0) return "0";
  const digits = 10 ** Math.floor(Math.log10(1 / p));
  const rounded = Math.round(1 / p / digits) * digits;
  return rounded < 1e7 ? `1 in ${rounded.toLocaleString("en")}` : "< 1 in 10 million";
}

// The same in a word, where it is not compared with others.
export function roughly(p) {
  if (p < 0.01) return "< 1 %";
  return p > 0.99 && p < 1 ? "> 99 %" : `${Math.round(100 * p)} %`;
}

const NAMES = { " ": "␣", "\n": "↵", "\t": "→" };
const WORDS = { " ": "space", "\n": "line break", "\t": "tab" };
export const visible = (character) => NAMES[character] ?? character;
export const spoken = (character) => WORDS[character] ?? character;

// Give a button several labels, one of which is shown; its size and its place stay the same.
export function relabel(button, labels, shown) {
  button.classList.add("steady");
  button.replaceChildren(
    ...labels.map((text) => element("span", { text, className: text === shown ? "" : "unshown" })),
  );
}

// A choice that is shown only where there is something to choose.
export function options(select, values, chosen) {
  select.replaceChildren(...values.map((value) => element("option", { value, text: value })));
  select.value = values.includes(chosen) ? chosen : values[0];
  select.parentElement.hidden = values.length < 2;
}

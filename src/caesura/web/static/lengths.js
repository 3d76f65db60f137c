// How probable each length of a gap is, as columns.
import { element, percent } from "./elements.js";

const shares = (lengths) =>
  Object.entries(lengths)
    .map(([length, p]) => [Number(length), p])
    .sort(([a], [b]) => a - b);

function column(p, highest) {
  const made = element("span", { className: "column" });
  made.style.setProperty("--p", p / highest);
  return made;
}

// Columns with numbers below them; none if the length is known.
export function drawLengths(list, lengths, noun) {
  const rows = shares(lengths);
  list.parentElement.hidden = rows.length < 2;
  const highest = Math.max(...rows.map(([, p]) => p));
  list.replaceChildren(
    ...rows.map(([length, p]) => {
      const label = element("span", { text: length });
      const told = element("span", { className: "unseen", text: ` ${noun}: ${percent(p)}` });
      return element("li", { title: `${length} ${noun}: ${percent(p)}` }, column(p, highest), label, told);
    }),
  );
}

// The same so small that it fits into a line of text; nothing if the length is known.
export function smallLengths(lengths) {
  const rows = shares(lengths);
  if (rows.length < 2) return [];
  const highest = Math.max(...rows.map(([, p]) => p));
  const title = rows.map(([length, p]) => `${length}: ${percent(p)}`).join(", ");
  const made = element("span", { className: "small-lengths", title }, ...rows.map(([, p]) => column(p, highest)));
  made.setAttribute("aria-hidden", true); // the card has the numbers
  return [made];
}

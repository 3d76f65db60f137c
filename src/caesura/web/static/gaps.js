// Where the gaps of a text are: runs of characters that are erased, or marked in the text itself.

// For each character, whether it is a mark of a gap: `_`, or a part of something like `{3-7}`.
export function marked(characters, { gap_char: gap, brackets }) {
  const marks = characters.map((c) => c === gap);
  if (!brackets) return marks;
  const [open, close] = [...brackets].map((c) => c.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const notation = new RegExp(`${open}(\\?|\\d+|\\d+-\\d+)${close}`, "g");
  const text = characters.map((c) => (c.length === 1 ? c : "x")).join(""); // an index is a character
  for (const { index, 0: found } of text.matchAll(notation)) {
    marks.fill(text[index - 1] !== "\\", index, index + found.length);
  }
  return marks;
}

// A reading as it has to be sent, so that nothing in it is taken for a gap.
export function escaped(text, { brackets }) {
  if (!brackets) return text;
  const [open, close] = brackets;
  return text.replace(/.(\?|\d+|\d+-\d+)./gsu, (found) =>
    found.startsWith(open) && found.endsWith(close) ? `\\${found}` : found,
  );
}

// The first place of each run of true ones, and the one after its last.
export function runs(flags) {
  const found = [];
  flags.forEach((flag, i) => {
    if (!flag) return;
    if (i && flags[i - 1]) found.at(-1)[1] = i + 1;
    else found.push([i, i + 1]);
  });
  return found;
}

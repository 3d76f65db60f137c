// Which keys of which steps are missing: a byte for each, True is missing.

export const LOWEST = 21; // the MIDI number of a piano's first key
export const KEYS = 88;

export class Mask {
  constructor(steps) {
    this.steps = steps;
    this.cells = new Uint8Array(steps * KEYS);
  }

  static of(steps, boxes) {
    const mask = new Mask(steps);
    for (const box of boxes) mask.set(box, true);
    return mask;
  }

  has(step, key) {
    return this.cells[step * KEYS + key - LOWEST] === 1;
  }

  set({ first, stop, lowest, highest }, missing) {
    for (let step = Math.max(first, 0); step < Math.min(stop, this.steps); step++) {
      for (let key = lowest; key <= highest; key++) {
        this.cells[step * KEYS + key - LOWEST] = missing ? 1 : 0;
      }
    }
  }

  get any() {
    return this.cells.includes(1);
  }

  // The first missing step, and the one after the last.
  get span() {
    const first = this.cells.indexOf(1);
    return first < 0 ? null : [Math.floor(first / KEYS), Math.floor(this.cells.lastIndexOf(1) / KEYS) + 1];
  }

  // The runs of steps in which a key is missing, within a stretch.
  runs(key, from = 0, to = this.steps) {
    const found = [];
    for (let step = from; step < to; step++) {
      if (!this.has(step, key)) continue;
      if (found.length && found.at(-1)[1] === step) found.at(-1)[1] = step + 1;
      else found.push([step, step + 1]);
    }
    return found;
  }

  // The same as boxes: runs that go on in the next key grow upwards.
  get boxes() {
    const done = [];
    let open = new Map();
    for (let key = LOWEST; key < LOWEST + KEYS; key++) {
      const next = new Map();
      for (const [first, stop] of this.runs(key)) {
        const name = `${first}:${stop}`;
        const box = open.get(name) ?? { first, stop, lowest: key, highest: key };
        if (!open.has(name)) done.push(box);
        box.highest = key;
        next.set(name, box);
      }
      open = next;
    }
    return done;
  }
}

// Plays notes with oscillators, and tells where it is.

const AHEAD = 0.4; // seconds that are scheduled in advance
const frequency = (key) => 440 * 2 ** ((key - 69) / 12);

export class Player {
  constructor(moved) {
    this.moved = moved; // called with the step that sounds, or null at the end
    this.context = null;
    this.playing = false;
  }

  // `seconds` says when each step begins, and when the last one ends.
  async play(notes, seconds, first, stop) {
    this.stop();
    this.context ??= new AudioContext();
    await this.context.resume();
    this.playing = true;
    this.output = this.context.createDynamicsCompressor();
    this.output.connect(this.context.destination);
    const zero = this.context.currentTime + 0.08 - seconds[first];
    const queue = notes
      .filter((note) => note.stop > first && note.first < stop)
      .map((note) => ({
        ...note,
        start: zero + seconds[Math.max(note.first, first)],
        end: zero + seconds[Math.min(note.stop, stop)],
      }))
      .sort((a, b) => a.start - b.start);
    const output = this.output;
    const tick = () => {
      if (this.output !== output) return; // stopped, or another one plays
      const now = this.context.currentTime;
      while (queue.length && queue[0].start < now + AHEAD) this.sound(queue.shift(), output);
      if (now - zero >= seconds[stop]) {
        this.stop();
        return;
      }
      this.moved(stepAt(seconds, now - zero));
      // A timer, too: a page in the background gets no animation frames.
      const again = () => {
        clearTimeout(timer);
        cancelAnimationFrame(frame);
        tick();
      };
      const timer = setTimeout(again, 100);
      const frame = requestAnimationFrame(again);
    };
    tick();
  }

  sound({ key, start, end, velocity }, output) {
    const oscillator = this.context.createOscillator();
    const gain = this.context.createGain();
    const loud = 0.22 * (velocity / 127) ** 0.8;
    oscillator.type = "triangle";
    oscillator.frequency.value = frequency(key);
    gain.gain.setValueAtTime(0, start);
    gain.gain.linearRampToValueAtTime(loud, start + 0.012);
    gain.gain.setTargetAtTime(loud * 0.45, start + 0.012, 0.25);
    gain.gain.setTargetAtTime(0, Math.max(end - 0.04, start + 0.03), 0.03);
    oscillator.connect(gain).connect(output);
    oscillator.start(start);
    oscillator.stop(end + 0.25);
  }

  stop() {
    if (!this.playing) return;
    this.playing = false;
    this.output.disconnect();
    this.output = null;
    this.moved(null);
  }
}

// The step that sounds at a time, with the part of it that has gone by.
function stepAt(seconds, time) {
  let low = 0;
  let high = seconds.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (seconds[middle] <= time) low = middle;
    else high = middle;
  }
  const length = seconds[high] - seconds[low] || 1;
  return low + Math.min(Math.max((time - seconds[low]) / length, 0), 1);
}

// Plays notes on a piano, and tells where it is.
import { Piano } from "./piano.js";

const AHEAD = 0.4; // seconds that are scheduled in advance

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
    this.stop(); // another one may have begun meanwhile
    this.playing = true;
    const piano = (this.piano = new Piano(this.context));
    const zero = this.context.currentTime + 0.08 - seconds[first];
    const queue = notes
      .filter((note) => note.stop > first && note.first < stop)
      .map((note) => ({
        ...note,
        start: zero + seconds[Math.max(note.first, first)],
        end: zero + seconds[Math.min(note.stop, stop)],
      }))
      .sort((a, b) => a.start - b.start);
    const tick = () => {
      if (this.piano !== piano) return; // stopped, or another one plays
      const now = this.context.currentTime;
      while (queue.length && queue[0].start < now + AHEAD) piano.strike(queue.shift());
      if (now - zero >= seconds[stop]) {
        piano.leave();
        this.rest();
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

  stop() {
    if (!this.playing) return;
    this.piano.silence();
    this.rest();
  }

  rest() {
    this.playing = false;
    this.piano = null;
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

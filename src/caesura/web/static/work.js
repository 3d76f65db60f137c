// One piece of work at a time for a view: a button starts and stops it, a status line reports.
import { relabel } from "./elements.js";

const SLOW = 1500; // milliseconds until the reason for the wait is shown
const REASON = "Filling… The first time takes some seconds longer, to compile.";

export class Work {
  constructor(button, status) {
    this.button = button;
    this.status = status;
    this.label = button.textContent;
    this.running = null;
    this.show(this.label);
  }

  // `job(signal)` returns the sentence to end with, or nothing.
  async run(job, reason = REASON) {
    this.stop();
    const running = (this.running = new AbortController());
    this.show("Stop");
    this.say("Filling…", "working");
    this.slow = setTimeout(() => this.say(reason, "working"), SLOW);
    try {
      const told = await job(running.signal);
      if (this.running === running) this.say(told ?? "");
    } catch (problem) {
      if (this.running !== running) return;
      if (problem.name === "AbortError") this.say("Stopped.");
      else this.say(problem.message, "problem");
    } finally {
      if (this.running === running) {
        this.running = null;
        this.show(this.label);
      }
    }
  }

  show(label) {
    relabel(this.button, [this.label, "Stop"], label);
  }

  stop() {
    this.running?.abort();
  }

  say(sentence, mood = "") {
    clearTimeout(this.slow); // no reason is needed any more
    this.status.textContent = sentence;
    this.status.className = `status ${mood}`;
  }
}

// One piece of work at a time for a view: its button starts and stops it, its status line tells.

const SLOW = 1500; // milliseconds, after which a reason for the wait is given
const REASON = "Filling… The first time takes some seconds longer: programs are compiled.";

export class Work {
  constructor(button, status) {
    this.button = button;
    this.status = status;
    this.label = button.textContent;
    this.running = null;
  }

  // `job(signal)` gives the sentence to end with, or nothing.
  async run(job, reason = REASON) {
    this.stop();
    const running = (this.running = new AbortController());
    this.button.textContent = "Stop";
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
        this.button.textContent = this.label;
      }
    }
  }

  stop() {
    this.running?.abort();
  }

  say(sentence, mood = "") {
    clearTimeout(this.slow); // there is news, so the wait needs no reason
    this.status.textContent = sentence;
    this.status.className = `status ${mood}`;
  }
}

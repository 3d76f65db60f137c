// A fill that becomes better: an answer at once, then another one for which there is more time.
import { ask } from "./api.js";

const SECONDS = [0.5, 5];
const ENDS = {
  settled: "The ranking has settled.",
  "out of time": "The search stopped when its time was up.",
  finished: "",
};

// `take` gets every answer; the last one is returned.
export async function improve(question, signal, work, take) {
  let answer;
  for (const seconds of SECONDS) {
    if (answer) work.say("Filled so far; looking for better fills…", "working");
    take((answer = await ask("/api/fill", { ...question, seconds }, signal)));
    if (answer.ended !== "out of time") break;
  }
  return answer;
}

// How the work ended, in a sentence; random draws are no search, and nothing is said of them.
export const endOf = ({ ended, strategy }) => (strategy === "search" ? ENDS[ended] : "");

// Requests to the server; if one fails, the Error's message is the server's sentence.

export async function get(path) {
  return (await answered(fetch(path))).json();
}

export async function ask(path, question, signal) {
  return (await answered(post(path, question, signal))).json();
}

// An answer in lines, each a JSON document.
export async function* askLines(path, question, signal) {
  const answer = await answered(post(path, question, signal));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const document = JSON.parse(line);
      if (document.detail) throw new Error(document.detail);
      yield document;
    }
  }
}

function post(path, question, signal) {
  const headers = { "Content-Type": "application/json" };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(question), signal });
}

async function answered(fetching) {
  let answer;
  try {
    answer = await fetching;
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Error("The server does not answer. Is `caesura serve` still running?");
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Error(told.detail ?? `The server answers with ${answer.status}.`);
}

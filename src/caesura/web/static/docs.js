// Show the OpenAPI description of the server.
import { get } from "./api.js";
import { element } from "./elements.js";

const description = await get("/openapi.json");

function type(schema) {
  if (!schema) return "";
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    return [element("a", { href: `#${name}`, text: name })];
  }
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.flatMap((one, n) => [n ? " or " : "", ...type(one)]);
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (schema.enum) return [schema.enum.map((value) => JSON.stringify(value)).join(" or ")];
  if (schema.prefixItems) {
    return ["[", ...schema.prefixItems.flatMap((one, n) => [n ? ", " : "", ...type(one)]), "]"];
  }
  if (schema.type === "array") return ["list of ", ...type(schema.items)];
  if (schema.type === "null") return ["nothing"];
  return [schema.type ?? "anything"];
}

function bounds(schema) {
  const told = {
    minimum: "at least",
    exclusiveMaximum: "below",
    maximum: "at most",
    minLength: "length at least",
    maxLength: "length at most",
    maxItems: "number at most",
    default: "default",
  };
  return Object.entries(told)
    .filter(([name]) => schema[name] !== undefined)
    .map(([name, words]) => `${words} ${JSON.stringify(schema[name])}`)
    .join(", ");
}

const json = (content) => Object.values(content ?? {})[0]?.schema;

for (const [path, methods] of Object.entries(description.paths)) {
  for (const [method, route] of Object.entries(methods)) {
    const lines = [element("p", { text: route.description })];
    const body = json(route.requestBody?.content);
    if (body) lines.push(element("p", {}, "Takes ", ...type(body), "."));
    const answer = json(route.responses["200"].content);
    const isPlainText = answer?.type === "string" && !answer.$ref && !answer.oneOf;
    if (!isPlainText) lines.push(element("p", {}, "Returns ", ...type(answer), "."));
    const refusals = Object.entries(route.responses).filter(([status]) => status !== "200");
    if (refusals.length) {
      const told = refusals.map(([status, { description }]) => `${status} ${description}`);
      lines.push(element("p", { className: "hint", text: told.join(" ") }));
    }
    const head = element("h2", {}, element("span", { className: "method", text: method.toUpperCase() }), element("code", { text: path }));
    document.getElementById("routes").append(element("article", { className: "card" }, head, ...lines));
  }
}

for (const [name, schema] of Object.entries(description.components.schemas)) {
  if (!schema.properties) continue;
  const rows = Object.entries(schema.properties).map(([field, about]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, element("code", { text: field }), schema.required?.includes(field) ? " *" : ""),
      element("td", {}, ...type(about)),
      element("td", { text: [about.description, bounds(about)].filter(Boolean).join(" ") }),
    ),
  );
  const table = element("div", { className: "scrolls", tabIndex: 0, role: "region", label: name }, element("table", {}, element("tbody", {}, ...rows)));
  document
    .getElementById("schemas")
    .append(element("article", { className: "card", id: name }, element("h2", { text: name }), element("p", { className: "hint", text: schema.description ?? "" }), table));
}

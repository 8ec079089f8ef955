// Shows what is wrong at the field where it is wrong.
import { h } from "./dom.mjs";

/** Marks the fields of `root`; gives the faults that have none. */
export function showFaults(root, faults) {
  const fields = new Map([...root.querySelectorAll("[data-path]")].map((e) => [e.dataset.path, e]));
  const messages = new Map();
  const others = [];
  for (const { argument, message } of faults) {
    const element = nearest(fields, argument);
    if (element === undefined) others.push({ argument, message });
    else if (!messages.has(element)) messages.set(element, message);
  }
  for (const element of fields.values()) {
    const error = element.id && root.querySelector(`#${element.id}-error`);
    if (!error) continue;
    const message = messages.get(element);
    error.hidden = message === undefined;
    error.textContent = message === undefined ? "" : message;
    if (message === undefined) element.removeAttribute("aria-invalid");
    else element.setAttribute("aria-invalid", "true");
  }
  return others;
}

/** The list above the result: each fault leads to its field. */
export function listFaults(place, root, faults) {
  place.replaceChildren();
  place.hidden = faults.length === 0;
  if (faults.length === 0) return;
  const fields = new Map([...root.querySelectorAll("[data-path]")].map((e) => [e.dataset.path, e]));
  const items = faults.map(({ argument, message }) => {
    const element = nearest(fields, argument);
    const text = argument === "" ? message : `${argument}: ${message}`;
    if (element === undefined) return h("li", {}, text);
    const go = () => {
      for (let box = element.closest("details"); box; box = box.parentElement.closest("details")) {
        box.open = true;
      }
      element.focus();
    };
    return h("li", {}, h("button", { type: "button", class: "link", onclick: go }, text));
  });
  place.append(h("h2", {}, "This cannot run yet"), h("ul", {}, items));
}

/** The field of a place, or of the nearest place around it. */
function nearest(fields, argument) {
  for (let path = argument; path !== ""; path = path.replace(/(\.|^)[^.[\]]+$|\[\d+\]$/, "")) {
    if (fields.has(path)) return fields.get(path);
    const document = fields.get(`${path}.document`);
    if (document !== undefined) return document;
  }
  return undefined;
}

// Shows validation errors at their fields.
import { h } from "./dom.mjs";

/** Marks the fields of `root` that have errors. Returns the errors without a field. */
export function showErrors(root, errors) {
  const fields = new Map([...root.querySelectorAll("[data-path]")].map((e) => [e.dataset.path, e]));
  const messages = new Map();
  const others = [];
  for (const { argument, message } of errors) {
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

/** Shows the list of errors above the result; each item focuses its field. */
export function listErrors(place, root, errors) {
  place.replaceChildren();
  place.hidden = errors.length === 0;
  if (errors.length === 0) return;
  const fields = new Map([...root.querySelectorAll("[data-path]")].map((e) => [e.dataset.path, e]));
  const items = errors.map(({ argument, message }) => {
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
  place.append(h("h2", {}, "This scenario cannot run yet"), h("ul", {}, items));
}

/** Returns the field of a path, or of its nearest ancestor. */
function nearest(fields, argument) {
  for (let path = argument; path !== ""; path = path.replace(/(\.|^)[^.[\]]+$|\[\d+\]$/, "")) {
    if (fields.has(path)) return fields.get(path);
    const document = fields.get(`${path}.document`);
    if (document !== undefined) return document;
  }
  return undefined;
}

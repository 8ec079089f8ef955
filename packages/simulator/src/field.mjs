// A labelled input with its hint and its error. `data-path` is the path in the scenario, which assigns
// errors to fields.
import { h, newId } from "./dom.mjs";

/**
 * Returns a field for `source[key]`; with `options` (`{ value: label }`) a list to choose from.
 * Calls `changed` after each keystroke or choice.
 */
export function field({ path, label, hint, source, key, options, placeholder, changed, wide }) {
  const id = newId("field");
  const input =
    options === undefined
      ? h("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder })
      : h(
          "select",
          {},
          choices(options, source[key] ?? "").map(([value, text]) => h("option", { value }, text)),
        );
  input.id = id;
  input.value = source[key] ?? "";
  input.dataset.path = path;
  input.addEventListener(options === undefined ? "input" : "change", () => {
    source[key] = input.value;
    changed(input);
  });
  return wrap({ id, label, hint, input, wide });
}

// Keeps the current value visible, even if it is not one of the options.
function choices(options, value) {
  const unknown = Object.hasOwn(options, value) ? [] : [[value, value === "" ? "–" : value]];
  return [...unknown, ...Object.entries(options)];
}

/** Returns a field for a text of several lines. */
export function textField({ path, label, hint, value, rows = 8, changed }) {
  const id = newId("field");
  const input = h("textarea", { id, rows, spellcheck: "false", autocomplete: "off", wrap: "off" });
  input.value = value;
  input.dataset.path = path;
  input.addEventListener("input", () => changed(input.value));
  return wrap({ id, label, hint, input, wide: true });
}

export function checkbox({ path, label, source, key, changed }) {
  const input = h("input", { type: "checkbox", checked: source[key] === true });
  if (path !== undefined) input.dataset.path = path;
  input.addEventListener("change", () => {
    source[key] = input.checked;
    changed(input);
  });
  return h("label", { class: "check" }, input, h("span", {}, label));
}

function wrap({ id, label, hint, input, wide }) {
  const described = [];
  const parts = [h("label", { for: id }, label), input];
  if (hint) {
    parts.push(h("p", { class: "hint", id: `${id}-hint` }, hint));
    described.push(`${id}-hint`);
  }
  parts.push(h("p", { class: "error", id: `${id}-error`, hidden: true }));
  described.push(`${id}-error`);
  input.setAttribute("aria-describedby", described.join(" "));
  return h("div", { class: wide ? "field wide" : "field" }, parts);
}

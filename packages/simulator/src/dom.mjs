// Creates elements without a framework. Texts are inserted as text nodes only, never as HTML.

let counter = 0;

/** Returns a unique id for an element. */
export const newId = (prefix) => `${prefix}-${++counter}`;

/**
 * Creates an element: `h("button", { type: "button", onclick }, "Run")`. Properties that begin with "on" are listeners.
 */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  set(element, properties);
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export function set(element, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === undefined || value === null || value === false) element.removeAttribute(key);
    else if (key === "value") element.value = value;
    else if (key === "checked") element.checked = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  return element;
}

/** Names an element, so that it can be focused after the editors are shown again. */
export const named = (element, name) => {
  element.dataset.focus = name;
  return element;
};

export const byId = (id) => document.getElementById(id);

export const button = (label, onclick, properties = {}) =>
  h("button", { type: "button", onclick, ...properties }, label);

/** Returns a function that calls `work` when it has not been called for `ms`. */
export function debounced(work, ms) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}

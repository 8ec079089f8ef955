// Elements without a framework. Texts go in as text nodes only, never as HTML.

let counter = 0;

/** An id that no other element has. */
export const newId = (prefix) => `${prefix}-${++counter}`;

/** `h("button", { type: "button", onclick }, "Run")`: properties that begin with "on" are listeners. */
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

/** The focus finds it by this name after the editors are shown anew. */
export const named = (element, name) => {
  element.dataset.focus = name;
  return element;
};

export const byId = (id) => document.getElementById(id);

export const button = (label, onclick, properties = {}) =>
  h("button", { type: "button", onclick, ...properties }, label);

/** Calls `work` once things have been quiet for so long. */
export function debounced(work, ms) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}

// Shows consecutive code blocks of different languages as tabs. Without this file they stand below each other.
(() => {
  const NAMES = {
    python: "Python",
    js: "Node",
    ruby: "Ruby",
    go: "Go",
    kotlin: "Kotlin",
    java: "Java",
    rust: "Rust",
    c: "C",
    json: "JSON",
    sh: "Shell",
  };
  const KEY = "paddlegate-language";

  const languageOf = (pre) => {
    const code = pre.querySelector("code");
    const marker = [...(code?.classList ?? [])].find((name) => name.startsWith("language-"));
    return marker?.slice("language-".length);
  };

  /** Groups of at least two neighbours, each in a language that the group does not have yet. */
  function groups() {
    const found = [];
    const seen = new Set();
    for (const pre of document.querySelectorAll("main pre")) {
      if (seen.has(pre) || !(languageOf(pre) in NAMES)) continue;
      const group = [pre];
      for (
        let next = pre.nextElementSibling;
        next?.matches("pre");
        next = next.nextElementSibling
      ) {
        const language = languageOf(next);
        if (!(language in NAMES) || group.some((other) => languageOf(other) === language)) break;
        group.push(next);
      }
      for (const member of group) seen.add(member);
      if (group.length > 1) found.push(group);
    }
    return found;
  }

  const tabLists = [];

  function select(language) {
    for (const tabs of tabLists) {
      const chosen = tabs.has(language) ? language : tabs.keys().next().value;
      for (const [name, { button, pre }] of tabs) {
        button.setAttribute("aria-selected", String(name === chosen));
        button.tabIndex = name === chosen ? 0 : -1;
        pre.hidden = name !== chosen;
      }
    }
  }

  function remember(language) {
    select(language);
    try {
      localStorage.setItem(KEY, language);
    } catch {
      // Without storage the choice holds for this page.
    }
  }

  function build(group) {
    const tabs = new Map();
    const list = document.createElement("div");
    list.className = "tabs";
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Language");
    for (const pre of group) {
      const language = languageOf(pre);
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = NAMES[language];
      button.setAttribute("role", "tab");
      button.addEventListener("click", () => remember(language));
      pre.setAttribute("role", "tabpanel");
      list.append(button);
      tabs.set(language, { button, pre });
    }
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const buttons = [...list.children];
      const next =
        (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
      buttons[next].click();
      buttons[next].focus();
    });
    group[0].before(list);
    tabLists.push(tabs);
  }

  for (const group of groups()) build(group);
  let language = "python";
  try {
    language = localStorage.getItem(KEY) ?? language;
  } catch {
    // Python stays selected.
  }
  select(language);
})();

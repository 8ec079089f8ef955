// The dialogs for the link and for the code of a policy.
import { button, h, newId } from "./dom.mjs";
import { number } from "./format.mjs";
import { LETTERS } from "./policy-editor.mjs";
import { LANGUAGES } from "./snippets.mjs";

const LONG = 30_000; // characters above which other programs may truncate a link

function open(dialog, title, ...parts) {
  const last = parts.at(-1);
  last.append(button("Close", () => dialog.close()));
  dialog.replaceChildren(h("h2", { id: "dialog-title" }, title), ...parts);
  dialog.showModal();
}

function copying(read) {
  const status = h("span", { role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(read());
      status.textContent = "Copied";
    } catch {
      status.textContent = "Copy it manually: the browser does not allow this page to copy";
    }
  };
  return h("div", { class: "buttons" }, button("Copy", copy, { class: "primary" }), status);
}

export function shareDialog(dialog, link) {
  const id = newId("link");
  const text = h("textarea", { id, rows: 6, readonly: true });
  text.value = link;
  const size =
    link.length > LONG
      ? `It has ${number(link.length)} characters; some programs truncate links of this length. The JSON file has no such limit.`
      : `It has ${number(link.length)} characters.`;
  open(
    dialog,
    "Share this scenario",
    h("p", {}, `The link contains the whole scenario; nothing is sent to a server. ${size}`),
    h("div", { class: "field wide" }, h("label", { for: id }, "Link"), text),
    copying(() => link),
  );
  text.select();
}

export function codeDialog(dialog, scenario) {
  const [ofPolicy, ofLanguage] = [newId("code"), newId("code")];
  const code = h("code", {});
  const pre = h("pre", { tabindex: "0", role: "region", "aria-label": "Code" }, code);
  const note = h("p", { class: "hint" });
  const policies = scenario.policies.map(({ name }, value) =>
    h("option", { value }, `${LETTERS[value]} ${name ?? ""}`),
  );
  const languages = LANGUAGES.map(({ key, name }) => h("option", { value: key }, name));
  const policy = h("select", { id: ofPolicy, onchange: () => write() }, policies);
  const language = h("select", { id: ofLanguage, onchange: () => write() }, languages);
  const write = () => {
    const chosen = scenario.policies[policy.value];
    code.textContent = LANGUAGES.find(({ key }) => key === language.value).code(chosen, scenario);
    note.textContent = NOTES[chosen.retry] ?? "";
  };
  write();
  open(
    dialog,
    "Code",
    h(
      "div",
      { class: "fields" },
      h("div", { class: "field" }, h("label", { for: ofPolicy }, "Policy"), policy),
      h("div", { class: "field" }, h("label", { for: ofLanguage }, "Language"), language),
    ),
    pre,
    note,
    copying(() => code.textContent),
  );
}

const NOTES = {
  linear: "A refused job is retried with Sidekiq's linear backoff; your job system does that.",
  exponential: "A refused caller retries with its own backoff.",
  wait: "A waiting caller has a ticket: first come, first served.",
  ticket:
    "A job that cannot run keeps its queue position and returns later: first come, first served.",
};

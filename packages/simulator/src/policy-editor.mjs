// The editor of one policy: as a form, or as a document in any format that the core reads.

import { documentOf, limitsFrom } from "./document.mjs";
import { button, h, newId } from "./dom.mjs";
import { checkbox, field, textField } from "./field.mjs";
import { limitEditor } from "./limit-editor.mjs";
import { entryOf, RETRIES, scenarioOf } from "./scenario.mjs";

export const LETTERS = ["A", "B", "C", "D"];

const RETRY_NAMES = {
  none: "None: a refusal is final",
  linear: "Sidekiq's linear backoff",
  exponential: "Exponential, full jitter",
  wait: "Wait in the queue",
  ticket: "Ticket: leaves, returns at its turn",
};
const RETRY_FIELDS = {
  attempts: ["Attempts", "20"],
  base: ["Base", "1s"],
  cap: ["Cap", "1h"],
  wait: ["Longest wait", "10 years"],
};

/**
 * `session`: `{ draft, engine, reads, changed(), rebuilt(...paths) }`. `rebuilt` shows the editors again
 * and focuses the first existing path. `reads` has the pending reads of documents by path: a run waits
 * for them.
 */
export function policyEditor(session, index) {
  const policy = session.draft.policies[index];
  const path = `policies[${index}]`;
  const changed = () => session.changed();
  const title = newId("policy");
  const remove = () => {
    session.draft.policies.splice(index, 1);
    session.rebuilt(`policies[${Math.max(0, index - 1)}].name`);
  };
  const several = session.draft.policies.length > 1;
  return h(
    "section",
    { class: "card", "aria-labelledby": title },
    h(
      "header",
      { class: "card-head" },
      h("h3", { id: title }, h("span", { class: "badge" }, LETTERS[index]), " Policy"),
      viewSwitch(session, policy, path),
      several &&
        button("×", remove, {
          class: "icon",
          "aria-label": `Remove policy ${LETTERS[index]}`,
          title: "Remove this policy",
        }),
    ),
    field({
      path: `${path}.name`,
      label: "Name",
      source: policy,
      key: "name",
      changed,
      wide: true,
    }),
    policy.view === "json"
      ? documentEditor(session, policy, path)
      : limitsOf(session, policy, path),
    callers(session, policy, path),
  );
}

function viewSwitch(session, policy, path) {
  const choice = (view, label) =>
    button(
      label,
      () => {
        policy.view = view;
        if (view === "json") session.rebuilt(`${path}.document`);
        else session.rebuilt(`${path}.limits[0].kind`, `${path}.limits`);
      },
      { "aria-pressed": String(policy.view === view) },
    );
  return h(
    "div",
    { class: "switch", role: "group", "aria-label": "Edit the limits as" },
    choice("form", "Form"),
    choice("json", "JSON"),
  );
}

function limitsOf(session, policy, path) {
  return limitEditor(policy.limits, path, (anew, ...places) => {
    policy.error = null; // the form applies now; the JSON text is kept
    policy.formed = true;
    if (anew) session.rebuilt(...places);
    else session.changed();
  });
}

function documentEditor(session, policy, path) {
  const index = session.draft.policies.indexOf(policy);
  const written = documentOf(scenarioOf(session.draft).scenario.policies[index]);
  if (policy.typed === null || policy.formed) policy.shown = written;
  else policy.shown = policy.typed;
  const place = h("div", {});
  const text = textField({
    path: `${path}.document`,
    label: "Document",
    hint: "Paddlegate, Open Job Spec, Conductor, Invantive or guild-queues",
    value: policy.shown,
    rows: 10,
    changed: (value) => {
      policy.typed = value;
      policy.formed = false;
      session.changed();
      session.reads.set(path, read());
    },
  });
  const read = async () => {
    const typed = policy.typed;
    const meaning = () => JSON.stringify([policy.name, policy.limits, policy.error]);
    const before = meaning();
    const isOver = () =>
      policy.typed !== typed || policy.formed || !session.draft.policies.includes(policy);
    try {
      const { policies } = await session.engine.document(typed);
      if (isOver()) return;
      policy.error = null;
      take(policies);
    } catch (error) {
      if (isOver()) return;
      policy.error = error.message;
    }
    // Showing the same document again is no edit.
    if (meaning() !== before) session.changed();
  };
  const take = (policies) => {
    place.replaceChildren();
    if (policies.length === 0) {
      policy.error = "the document has no limiter";
      return;
    }
    const chosen = policies.find(({ name }) => name === policy.chosen) ?? policies[0];
    use(policy, path, chosen);
    if (policies.length === 1) return;
    policy.chosen = chosen.name;
    const options = Object.fromEntries(policies.map(({ name }) => [name, name]));
    place.append(
      field({
        path: `${path}.chosen`,
        label: `Limiter (the document has ${policies.length})`,
        source: policy,
        key: "chosen",
        options,
        changed: () => {
          use(
            policy,
            path,
            policies.find(({ name }) => name === policy.chosen),
          );
          session.changed();
        },
        wide: true,
      }),
    );
  };
  if (policy.typed !== null && !policy.formed) session.reads.set(path, read());
  const back =
    policy.formed && policy.typed !== null && policy.typed !== written
      ? button("Restore my JSON", () => {
          policy.formed = false;
          session.rebuilt(`${path}.document`);
        })
      : null;
  return h("div", {}, text, place, back);
}

function use(policy, path, { name, limits }) {
  policy.limits = limitsFrom({ limits });
  if (name !== policy.read) policy.name = name;
  policy.read = name;
  const input = document.querySelector(`[data-path="${path}.name"]`);
  if (input) input.value = policy.name;
}

function callers(session, policy, path) {
  const changed = () => session.changed();
  const fields = (entryOf(RETRIES, policy.retry) ?? []).map((key) => {
    const [label, placeholder] = RETRY_FIELDS[key];
    return field({
      path: `${path}.${key}`,
      label,
      placeholder,
      source: policy,
      key,
      changed,
    });
  });
  return h(
    "div",
    { class: "fields" },
    field({
      path: `${path}.retry`,
      label: "Retries of refused callers",
      source: policy,
      key: "retry",
      options: RETRY_NAMES,
      changed: () => session.rebuilt(`${path}.retry`),
      wide: true,
    }),
    fields,
    checkbox({
      path: `${path}.correct`,
      label: "Report actual costs",
      source: policy,
      key: "correct",
      changed,
    }),
  );
}

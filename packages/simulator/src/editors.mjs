// All editors of the page, which are shown again when fields are added or removed.
import { button, byId, h } from "./dom.mjs";
import { policyEditor } from "./policy-editor.mjs";
import { MAX_POLICIES, newPolicy } from "./scenario.mjs";
import { arrivalsEditor, callsEditor, eventsEditor, upstreamEditor } from "./workload-editor.mjs";

/** Creates all editors before showing any: if one throws, the page is unchanged. */
export function showEditors(session) {
  const { policies } = session.draft;
  session.reads.clear();
  const add = () => {
    policies.push(newPolicy(`policy ${policies.length + 1}`));
    session.rebuilt(`policies[${policies.length - 1}].name`);
  };
  const more = button("Add policy", add, {
    class: "quiet",
    disabled: policies.length >= MAX_POLICIES,
  });
  const made = {
    policies: [...policies.map((_, i) => policyEditor(session, i)), h("div", {}, more)],
    arrivals: [arrivalsEditor(session)],
    calls: [callsEditor(session)],
    upstream: [upstreamEditor(session)],
    events: [eventsEditor(session)],
  };
  for (const [id, elements] of Object.entries(made)) byId(id).replaceChildren(...elements);
}

/** Opens the parts that have content, for another scenario. */
export function openParts({ upstream, events }, isNarrow) {
  for (const part of document.querySelectorAll("#editor > details")) part.open = !isNarrow;
  byId("upstream-part").open = upstream.on && !isNarrow;
  byId("events-part").open = events.length > 0 && !isNarrow;
}

/** Focuses the first existing element: fields by their paths, buttons by their names. */
export function focusPath(...paths) {
  for (const path of paths) {
    const place = CSS.escape(path);
    const element = document.querySelector(`[data-path="${place}"], [data-focus="${place}"]`);
    if (element === null) continue;
    element.focus();
    return;
  }
}

// All editors of the page, shown anew when fields come or go.
import { button, byId, h } from "./dom.mjs";
import { policyEditor } from "./policy-editor.mjs";
import { MOST_POLICIES, newPolicy } from "./scenario.mjs";
import { arrivalsEditor, callsEditor, eventsEditor, upstreamEditor } from "./workload-editor.mjs";

/** All are made before any is shown: when one throws, the page is as it was. */
export function showEditors(session) {
  const { policies } = session.draft;
  session.reads.clear();
  const add = () => {
    policies.push(newPolicy(`policy ${policies.length + 1}`));
    session.rebuilt(`policies[${policies.length - 1}].name`);
  };
  const more = button("Add policy", add, {
    class: "quiet",
    disabled: policies.length >= MOST_POLICIES,
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

/** For another scenario: opens what has something in it. */
export function openParts({ upstream, events }, isNarrow) {
  for (const part of document.querySelectorAll("#editor > details")) part.open = !isNarrow;
  byId("upstream-part").open = upstream.on && !isNarrow;
  byId("events-part").open = events.length > 0 && !isNarrow;
}

/** To the first of some places that there is: fields by their paths, buttons by their names. */
export function focusPath(...paths) {
  for (const path of paths) {
    const place = CSS.escape(path);
    const element = document.querySelector(`[data-path="${place}"], [data-focus="${place}"]`);
    if (element === null) continue;
    element.focus();
    return;
  }
}

// All editors of the page, shown anew when fields come or go.
import { button, byId, h } from "./dom.mjs";
import { policyEditor } from "./policy-editor.mjs";
import { MOST_POLICIES, newPolicy } from "./scenario.mjs";
import { arrivalsEditor, callsEditor, eventsEditor, upstreamEditor } from "./workload-editor.mjs";

export function showEditors(session) {
  const { policies } = session.draft;
  const add = () => {
    policies.push(newPolicy(`policy ${policies.length + 1}`));
    session.rebuilt(`policies[${policies.length - 1}].name`);
  };
  byId("policies").replaceChildren(
    ...policies.map((_, i) => policyEditor(session, i)),
    h(
      "div",
      {},
      button("Add policy", add, { class: "quiet", disabled: policies.length >= MOST_POLICIES }),
    ),
  );
  byId("arrivals").replaceChildren(arrivalsEditor(session));
  byId("calls").replaceChildren(callsEditor(session));
  byId("upstream").replaceChildren(upstreamEditor(session));
  byId("events").replaceChildren(eventsEditor(session));
}

/** For another scenario: opens what has something in it. */
export function openParts({ upstream, events }, isNarrow) {
  for (const part of document.querySelectorAll("#editor > details")) part.open = !isNarrow;
  byId("upstream-part").open = upstream.on && !isNarrow;
  byId("events-part").open = events.length > 0 && !isNarrow;
}

export function focusPath(path) {
  const element = path && document.querySelector(`[data-path="${CSS.escape(path)}"]`);
  if (element) element.focus();
}

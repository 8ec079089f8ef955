// Stores the state of the session for a reload: `{ draft, title, isEdited, link }`, where `link` is the
// fragment from which the draft was loaded, or "".
import { draftOf, scenarioOf } from "./scenario.mjs";

const KEY = "paddlegate-draft";

export function saveState(state) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(state));
  } catch {
    // Too large, or not allowed: a reload must not restore an older state either.
    removeState();
  }
}

function removeState() {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Not allowed either.
  }
}

export function loadState() {
  try {
    const state = JSON.parse(sessionStorage.getItem(KEY));
    draftOf(scenarioOf(state.draft).scenario); // throws if the state is incomplete
    return state;
  } catch {
    return null;
  }
}

// What a reload finds again: `{ draft, title, isEdited, link }`, where `link` is the fragment that the
// draft is of, or "".
import { draftOf, scenarioOf } from "./scenario.mjs";

const KEPT = "paddlegate-draft";

export function keep(state) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(state));
  } catch {
    // Too large, or not allowed: then a reload forgets it, and finds nothing older.
    forget();
  }
}

function forget() {
  try {
    sessionStorage.removeItem(KEPT);
  } catch {
    // Not allowed either.
  }
}

export function kept() {
  try {
    const state = JSON.parse(sessionStorage.getItem(KEPT));
    draftOf(scenarioOf(state.draft).scenario); // throws unless it is whole
    return state;
  } catch {
    return null;
  }
}

// The editing session: the draft, its title and its link. A reload keeps them, and edits can be restored
// after another scenario was loaded.
import { button, byId, debounced } from "./dom.mjs";
import { focusPath, showEditors } from "./editors.mjs";
import { importScenario } from "./import-scenario.mjs";
import { draftOf, scenarioOf } from "./scenario.mjs";
import { saveState } from "./session-storage.mjs";

export const TITLE = "Paddlegate simulator";

export class Session {
  draft = null;
  title = TITLE;
  isEdited = false;
  link = ""; // the fragment of the draft, or "" if the draft differs from any link
  edits = 0;
  reads = new Map(); // the pending reads of documents, by path: a run waits for them
  #hooks;
  #save = () => this.draft !== null && saveState(this.#state);
  #saveSoon = debounced(this.#save, 400);

  /**
   * `hooks`: `begun()` updates the parts outside the editors; `edited()` is called after every change,
   * `changed()` after a change by the user; `leave()` takes the focus.
   */
  constructor(engine, hooks) {
    this.engine = engine;
    this.#hooks = hooks;
    if (!new URLSearchParams(location.search).has("embed"))
      addEventListener("pagehide", this.#save);
  }

  /** Records an edit by the user. */
  changed() {
    this.isEdited = true;
    this.#dropLink(); // a reload would load the unedited scenario
    this.#edited();
    this.#hooks.changed();
  }

  /** Shows the editors again after fields were added or removed, and focuses the first existing path. */
  rebuilt(...places) {
    showEditors(this);
    focusPath(...places);
    this.changed();
  }

  /** Loads another scenario; offers to restore the previous edits. */
  async load(given, title, link = "") {
    const draft = draftOf(await importScenario(given, this.engine.document));
    const before = this.draft === null ? null : this.#state;
    this.begin({ draft, title, link });
    if (link === "") this.#dropLink();
    if (before?.isEdited) this.offerRestore(before);
  }

  /** Starts with a draft; if it cannot be shown, keeps the previous one. */
  begin({ draft, title = TITLE, isEdited = false, link = "" }) {
    const before = this.draft;
    this.draft = draft;
    try {
      showEditors(this);
    } catch (error) {
      this.draft = before;
      throw error;
    }
    Object.assign(this, { title, isEdited, link });
    this.#hooks.begun();
    this.#edited();
  }

  offerRestore(other) {
    const place = byId("bring-back");
    const back = button("Restore my previous edits", () => {
      const here = this.#state;
      this.begin(other);
      this.changed();
      // The replaced edits can be restored in turn.
      if (here.isEdited) this.offerRestore(here).focus();
      else {
        place.hidden = true;
        this.#hooks.leave();
      }
    });
    place.replaceChildren(back);
    place.hidden = false;
    return back;
  }

  shared(link) {
    this.link = link;
    this.#saveSoon();
  }

  /** Returns the scenario, its errors and the number of edits. */
  async validated() {
    await Promise.all(this.reads.values());
    const { edits } = this;
    const { scenario, errors } = scenarioOf(this.draft);
    const found = Object.entries(errors).map(([argument, message]) => ({ argument, message }));
    this.draft.policies.forEach(({ view, error }, i) => {
      if (view === "json" && error)
        found.push({ argument: `policies[${i}].document`, message: error });
    });
    const known = new Set(found.map(({ argument }) => argument));
    for (const error of await this.engine.check(scenario)) {
      if (!known.has(error.argument)) found.push(error);
    }
    return { scenario, errors: found, edits };
  }

  get #state() {
    const { draft, title, isEdited, link } = this;
    return { draft, title, isEdited, link };
  }

  #edited() {
    this.edits += 1;
    this.#hooks.edited();
    this.#saveSoon();
  }

  #dropLink() {
    this.link = "";
    if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  }
}

// What is edited just now: the draft, its title, and the link that it is of. None of it is lost: not
// by a reload, and not by another scenario.
import { button, byId, debounced } from "./dom.mjs";
import { focusPath, showEditors } from "./editors.mjs";
import { accepted } from "./given.mjs";
import { keep } from "./kept.mjs";
import { draftOf, scenarioOf } from "./scenario.mjs";

export const TITLE = "Paddlegate simulator";

export class Session {
  draft = null;
  title = TITLE;
  isEdited = false;
  link = ""; // a fragment, or "" when the draft is not what a link holds
  edits = 0;
  reads = new Map(); // documents that are being read, by path: a run waits for them
  #hooks;
  #keep = () => this.draft !== null && keep(this.#state);
  #keepSoon = debounced(this.#keep, 400);

  /** `hooks`: `begun()` shows what is not in the editors; `edited()` and `changed()` are told; `leave()` takes the focus. */
  constructor(engine, hooks) {
    this.engine = engine;
    this.#hooks = hooks;
    addEventListener("pagehide", this.#keep);
  }

  /** Someone has edited it. */
  changed() {
    this.isEdited = true;
    this.#dropLink(); // a reload would load what was there before
    this.#edited();
    this.#hooks.changed();
  }

  /** Fields come or go; the focus is led to the first of some places that there is. */
  rebuilt(...places) {
    showEditors(this);
    focusPath(...places);
    this.changed();
  }

  /** Another scenario. What was edited here can be brought back. */
  async load(given, title, link = "") {
    const draft = draftOf(await accepted(given, this.engine.document));
    const before = this.draft === null ? null : this.#state;
    this.begin({ draft, title, link });
    if (link === "") this.#dropLink();
    if (before?.isEdited) this.offerBack(before);
  }

  /** Nothing is taken over unless it can be shown. */
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

  offerBack(other) {
    const place = byId("bring-back");
    const back = button("Bring back what I edited before", () => {
      const here = this.#state;
      this.begin(other);
      this.changed();
      // What was here is not lost either.
      if (here.isEdited) this.offerBack(here).focus();
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
    this.#keepSoon();
  }

  /** The scenario, all faults that are known of it, and how many edits there were. */
  async examined() {
    await Promise.all(this.reads.values());
    const { edits } = this;
    const { scenario, faults } = scenarioOf(this.draft);
    const found = Object.entries(faults).map(([argument, message]) => ({ argument, message }));
    this.draft.policies.forEach(({ view, fault }, i) => {
      if (view === "json" && fault)
        found.push({ argument: `policies[${i}].document`, message: fault });
    });
    const known = new Set(found.map(({ argument }) => argument));
    for (const fault of await this.engine.check(scenario)) {
      if (!known.has(fault.argument)) found.push(fault);
    }
    return { scenario, faults: found, edits };
  }

  get #state() {
    const { draft, title, isEdited, link } = this;
    return { draft, title, isEdited, link };
  }

  #edited() {
    this.edits += 1;
    this.#hooks.edited();
    this.#keepSoon();
  }

  #dropLink() {
    this.link = "";
    if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  }
}

// The page: what was typed, the worker, and what is shown of its answers.
import { button, byId, debounced, h } from "./dom.mjs";
import { focusPath, openParts, showEditors } from "./editors.mjs";
import { Engine } from "./engine.mjs";
import { listFaults, showFaults } from "./faults.mjs";
import { filesBar } from "./files.mjs";
import { Playback, prefersStill } from "./playback.mjs";
import { READY, readyScenario } from "./ready.mjs";
import { Result } from "./result.mjs";
import { draftOf, scenarioOf } from "./scenario.mjs";
import { scenarioFrom } from "./share.mjs";
import { runInWords } from "./summary.mjs";
import { Transport } from "./transport.mjs";

const KEPT = "paddlegate-draft";
const editor = byId("editor");
const narrow = matchMedia("(max-width: 999px)");
const engine = new Engine();
let isEdited = false;
let runs = 0;
let ended = 0;
let title = "Paddlegate simulator";

const session = {
  draft: null,
  engine,
  changed() {
    isEdited = true;
    transport.stale(result.results.length > 0);
    check();
    keep();
  },
  rebuilt(path) {
    showEditors(session);
    focusPath(path);
    session.changed();
  },
};

const say = (text) => {
  byId("status").textContent = text;
};

// --- What is wrong -------------------------------------------------------------------------------

/** The scenario and all faults that are known of it. */
async function examined() {
  const { scenario, faults } = scenarioOf(session.draft);
  const found = Object.entries(faults).map(([argument, message]) => ({ argument, message }));
  session.draft.policies.forEach(({ view, fault }, i) => {
    if (view === "json" && fault)
      found.push({ argument: `policies[${i}].document`, message: fault });
  });
  const known = new Set(found.map(({ argument }) => argument));
  for (const fault of await engine.check(scenario)) {
    if (!known.has(fault.argument)) found.push(fault);
  }
  return { scenario, faults: found };
}

let checks = 0;
const check = debounced(async () => {
  const mine = ++checks;
  const faults = await examined().then(
    (known) => known.faults,
    () => [], // told by the run
  );
  if (mine !== checks) return;
  showFaults(editor, faults);
  if (faults.length === 0) listFaults(byId("faults"), editor, []);
}, 250);

// --- Running -------------------------------------------------------------------------------------

/** `plays`: the clock runs over the result, unless someone wants no motion. */
async function run(plays = true) {
  try {
    await simulate(plays);
  } finally {
    ended += 1;
  }
}

async function simulate(plays) {
  const mine = ++runs;
  checks += 1;
  say("");
  try {
    const { scenario, faults } = await examined();
    if (mine !== runs) return;
    show(faults);
    if (faults.length > 0) {
      say(
        `Not run: ${faults.length === 1 ? "one thing is" : `${faults.length} things are`} wrong.`,
      );
      return;
    }
    transport.computing(true);
    const results = await engine.run(scenario, ({ done }) => transport.progress(done));
    if (mine !== runs) return;
    if (results === null) {
      say("Stopped.");
      return;
    }
    playback.pause();
    await result.show(scenario, results);
    if (mine !== runs) return;
    transport.enable(true);
    transport.stale(false);
    playback.begin(result.end, plays && !prefersStill() && playback.speed !== "max");
    say(runInWords(results));
  } catch (error) {
    show([{ argument: error.argument ?? "", message: error.message }]);
    say("Not run: the simulator reported a fault.");
  } finally {
    if (mine === runs) transport.computing(false);
  }
}

function show(faults) {
  showFaults(editor, faults);
  showFaults(byId("transport"), faults);
  listFaults(byId("faults"), document.body, faults);
}

const result = new Result(
  {
    totals: byId("totals"),
    figures: byId("figures"),
    decisions: byId("decisions"),
    decisionsPart: byId("decisions-part"),
  },
  engine,
);

const playback = new Playback((now, isPlaying) => {
  result.at(now, isPlaying);
  transport.moved(now, result.end, isPlaying);
});

const transport = new Transport(byId("transport"), {
  run: () => run(),
  stop: () => engine.stop(),
  play: () => (playback.isPlaying ? playback.pause() : playback.play()),
  step() {
    if (playback.isAtEnd) playback.to(0);
    const next = result.next(playback.now);
    if (next === null) return;
    playback.to(next.at);
    result.figures[next.index].choose(next.row, true);
  },
  end: () => playback.to(result.end),
  speed(value) {
    playback.speed = value;
  },
  zoom: (factor) => result.zoom(factor),
  shift: (part) => result.shift(part),
  all: () => result.zoomTo(0, result.end * 1.01),
});

// --- Scenarios -----------------------------------------------------------------------------------

/** Another scenario in the editors. What was edited there can be brought back. */
function load(scenario, name) {
  const before = session.draft;
  const draft = draftOf(scenario);
  if (before !== null && isEdited) offerBack(before);
  begin(draft, name);
}

function begin(draft, name) {
  session.draft = draft;
  ready.value = Object.keys(READY).find((key) => READY[key] === name) ?? "";
  isEdited = false;
  title = name ?? "Paddlegate simulator";
  openParts(draft, narrow.matches);
  transport.seed(draft, () => session.changed());
  showEditors(session);
  keep();
}

function offerBack(draft) {
  const place = byId("bring-back");
  const back = button("Bring back what I edited before", () => {
    place.hidden = true;
    begin(draft);
    session.changed();
  });
  place.replaceChildren(back);
  place.hidden = false;
}

const keep = debounced(() => {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ draft: session.draft, title }));
  } catch {
    // Too large, or not allowed: then a reload forgets it.
  }
}, 400);

function kept() {
  try {
    const { draft, title: name } = JSON.parse(sessionStorage.getItem(KEPT));
    draftOf(scenarioOf(draft).scenario); // throws unless it is whole
    return { draft, name };
  } catch {
    return null;
  }
}

async function choose(name) {
  try {
    load(await readyScenario(name), READY[name]);
    history.replaceState(null, "", location.pathname + location.search);
    await run();
  } catch (error) {
    say(error.message);
  }
}

async function openLink() {
  try {
    const scenario = await scenarioFrom(location.hash);
    if (scenario === null) return false;
    load(scenario, "Paddlegate simulator");
    return true;
  } catch (error) {
    const message = `The link cannot be read: ${error.message}`;
    listFaults(byId("faults"), document.body, [{ argument: "", message }]);
    return false;
  }
}

const ready = byId("ready");
ready.append(
  h("option", { value: "" }, "Ready scenarios …"),
  ...Object.entries(READY).map(([value, name]) => h("option", { value }, name)),
);
ready.addEventListener("change", () => ready.value !== "" && choose(ready.value));

// --- Files and links -----------------------------------------------------------------------------

filesBar(byId("files"), {
  session,
  result,
  say,
  title: () => title,
  async opened(text, name) {
    try {
      load(JSON.parse(text), name);
      await run();
    } catch (error) {
      const message = `${name} cannot be read: ${error.message}`;
      listFaults(byId("faults"), document.body, [{ argument: "", message }]);
      say("The file was not read; the editor is as it was.");
    }
  },
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  }
});

// --- Begin ---------------------------------------------------------------------------------------

addEventListener("hashchange", async () => {
  if (await openLink()) run(false);
});

async function start() {
  const isLinked = await openLink();
  if (!isLinked) {
    const before = kept();
    if (before !== null) begin(before.draft, before.name);
    else load(await readyScenario("boundary-burst"), READY["boundary-burst"]);
  }
  // A link that could not be read is told of until something runs.
  if (byId("faults").hidden) await run(false);
}

/** For tests: what is plotted, and the totals as the core wrote them. */
window.paddlegate = {
  plotted: () => result.figures.map(({ plotted }) => plotted),
  totals: () => result.results.map(({ totalsText }) => totalsText),
  scenario: () => result.scenario,
  runs: () => ended,
};

start();

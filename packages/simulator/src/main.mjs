// The page: connects the session, the worker and the result.
import { Controls } from "./controls.mjs";
import { byId, debounced, h } from "./dom.mjs";
import { openParts } from "./editors.mjs";
import { Engine } from "./engine.mjs";
import { filesBar } from "./files.mjs";
import { count } from "./format.mjs";
import { jsonFrom } from "./json.mjs";
import { loadPreset, PRESETS } from "./presets.mjs";
import { Result } from "./result.mjs";
import { draftOf } from "./scenario.mjs";
import { Session, TITLE } from "./session.mjs";
import { loadState } from "./session-storage.mjs";
import { scenarioFrom } from "./share.mjs";
import { runInWords } from "./summary.mjs";
import { listErrors, showErrors } from "./validation-errors.mjs";

const editor = byId("editor");
const FIRST = "boundary-burst";
const query = new URLSearchParams(location.search);
const isEmbedded = query.has("embed");
const narrow = matchMedia("(max-width: 999px)");
const engine = new Engine();
let shownEdits = 0; // the number of edits at the start of the run that is shown
let runEdits = -1; // the number of edits at the start of the last run
let runs = 0;
let ended = 0;
let story = null; // the preset that the page opened last, with its two sentences and its moment
let isNew = true; // whether the next result is the first of a scenario

const session = new Session(engine, {
  begun() {
    const key = Object.keys(PRESETS).find((name) => PRESETS[name].name === session.title);
    story = PRESETS[key] ?? null;
    isNew = true;
    preset.value = key ?? "";
    byId("story").textContent = session.isEdited ? "" : (story?.text ?? "");
    openParts(session.draft, narrow.matches);
  },
  edited: () => controls.stale(isStale()),
  changed: () => check(),
  leave: () => controls.focus(),
});

const isStale = () => result.results.length > 0 && session.edits !== shownEdits;

const say = (text) => {
  byId("status").textContent = text;
};

// --- Validation ----------------------------------------------------------------------------------

let checks = 0;
const check = debounced(async () => {
  if (session.edits === runEdits) return; // the run checks it
  const mine = ++checks;
  const errors = await session.validated().then(
    (validated) => validated.errors,
    () => [], // the run reports the error
  );
  if (mine !== checks) return;
  mark(errors);
  if (errors.length > 0) return;
  listErrors(byId("errors"), editor, []);
  await run();
}, 250);

// --- Running -------------------------------------------------------------------------------------

async function run() {
  try {
    await simulate();
  } finally {
    ended += 1;
  }
}

async function simulate() {
  const mine = ++runs;
  checks += 1;
  runEdits = session.edits;
  say("");
  engine.stop(); // ends the previous run, whose result is obsolete
  try {
    const { scenario, errors, edits } = await session.validated();
    if (mine !== runs) return;
    show(errors);
    if (errors.length > 0) {
      say(`Not run: ${count(errors.length, "error")}.`);
      return;
    }
    controls.computing(true);
    const ran = await engine.run(scenario, ({ done }) => {
      if (mine === runs) controls.progress(done);
    });
    if (mine !== runs) {
      if (ran !== null) engine.free(ran.run);
      return;
    }
    if (ran === null) {
      say("Stopped.");
      return;
    }
    if (result.run !== null) engine.free(result.run);
    shownEdits = edits;
    const wasThere = byId("results").contains(document.activeElement);
    result.show(scenario, ran, isNew ? (story?.moment ?? null) : null, !isNew);
    isNew = false;
    // The focused element may have been replaced.
    if (wasThere && document.activeElement === document.body) controls.focus();
    controls.enable(story?.at ?? "");
    controls.stale(isStale());
    if (mine === runs) say(runInWords(ran.results));
  } catch (error) {
    if (mine !== runs) return;
    show([{ argument: error.argument ?? "", message: error.message }]);
    say("Not run: the simulator reported an error.");
  } finally {
    if (mine === runs) controls.computing(false);
  }
}

function mark(errors) {
  showErrors(editor, errors);
}

function show(errors) {
  mark(errors);
  listErrors(byId("errors"), document.body, errors);
}

const result = new Result(
  {
    figure: byId("figure"),
    numbers: byId("numbers"),
    totals: byId("totals"),
    explain: byId("explain"),
    decisions: byId("decisions"),
    rest: byId("rest"),
  },
  engine,
);

const controls = new Controls(byId("controls"), byId("range"), {
  run: () => run(),
  stop: () => engine.stop(),
  zoom: (factor) => result.zoom(factor),
  shift: (part) => result.shift(part),
  all: () => result.all(),
  moment: () => result.zoomTo(...story.moment),
});

// --- Scenarios -----------------------------------------------------------------------------------

async function choose(name) {
  try {
    await session.load(await loadPreset(name), PRESETS[name].name);
    await run();
  } catch (error) {
    say(error.message);
  }
}

async function openLink() {
  const fragment = location.hash;
  try {
    const scenario = await scenarioFrom(fragment);
    if (scenario === null) return false;
    await session.load(scenario, TITLE, fragment);
    return true;
  } catch (error) {
    const message = `The link cannot be read: ${error.message}`;
    listErrors(byId("errors"), document.body, [{ argument: "", message }]);
    return false;
  }
}

const preset = byId("preset");
preset.append(
  h("option", { value: "" }, "Presets …"),
  ...Object.entries(PRESETS).map(([value, { name }]) => h("option", { value }, name)),
);
preset.addEventListener("change", () => preset.value !== "" && choose(preset.value));

// --- Files and links -----------------------------------------------------------------------------

filesBar(byId("files"), {
  session,
  result,
  say,
  title: () => session.title,
  async opened(text, name) {
    try {
      await session.load(jsonFrom(text), name);
    } catch (error) {
      const message = `${name} cannot be read: ${error.message}`;
      listErrors(byId("errors"), document.body, [{ argument: "", message }]);
      say("The file was not loaded; the editor is unchanged.");
      return;
    }
    await run();
  },
  shared: (fragment) => session.shared(fragment),
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  }
});

// --- Begin ---------------------------------------------------------------------------------------

addEventListener("hashchange", async () => {
  if (await openLink()) run();
});

async function start() {
  // A frame shows what its address says.
  const first = Object.hasOwn(PRESETS, query.get("scenario") ?? "") ? query.get("scenario") : FIRST;
  const before = isEmbedded || query.has("scenario") ? null : loadState();
  if (isEmbedded) {
    document.body.classList.add("embed");
    byId("whole").href = `./?scenario=${first}${location.hash}`;
  }
  // Edits of a linked scenario take precedence over the link.
  const isSame = before !== null && before.link === location.hash;
  if (isSame || !(await openLink())) {
    if (before !== null) session.begin(before);
    else session.begin({ draft: draftOf(await loadPreset(first)), title: PRESETS[first].name });
  } else if (before?.isEdited) session.offerRestore(before);
  // The error of an unreadable link stays visible until the next run.
  if (byId("errors").hidden) await run();
}

/** For tests: the plotted data, the totals as written by the core, and another preset. */
window.paddlegate = {
  plotted: () => result.figure.plotted,
  results: () => result.results,
  totals: () => result.results.map(({ totalsText }) => totalsText),
  scenario: () => result.scenario,
  runs: () => ended,
  open: choose,
};

start();

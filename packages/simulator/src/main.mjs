// The page: connects the session, the worker and the result.
import { byId, debounced, h } from "./dom.mjs";
import { openParts } from "./editors.mjs";
import { Engine } from "./engine.mjs";
import { filesBar } from "./files.mjs";
import { count } from "./format.mjs";
import { jsonFrom } from "./json.mjs";
import { Playback, prefersStill } from "./playback.mjs";
import { loadPreset, PRESETS } from "./presets.mjs";
import { Result } from "./result.mjs";
import { draftOf } from "./scenario.mjs";
import { Session, TITLE } from "./session.mjs";
import { loadState } from "./session-storage.mjs";
import { scenarioFrom } from "./share.mjs";
import { runInWords } from "./summary.mjs";
import { Transport } from "./transport.mjs";
import { listErrors, showErrors } from "./validation-errors.mjs";

const editor = byId("editor");
const FIRST = "boundary-burst";
const narrow = matchMedia("(max-width: 999px)");
const engine = new Engine();
let shownEdits = 0; // the number of edits at the start of the run that is shown
let runs = 0;
let ended = 0;

const session = new Session(engine, {
  begun() {
    preset.value = Object.keys(PRESETS).find((key) => PRESETS[key] === session.title) ?? "";
    openParts(session.draft, narrow.matches);
    transport.seed(session.draft, () => session.changed());
  },
  edited: () => transport.stale(isStale()),
  changed: () => check(),
  leave: () => transport.focus(),
});

const isStale = () => result.results.length > 0 && session.edits !== shownEdits;

const say = (text) => {
  byId("status").textContent = text;
};

// --- Validation ----------------------------------------------------------------------------------

let checks = 0;
const check = debounced(async () => {
  const mine = ++checks;
  const errors = await session.validated().then(
    (validated) => validated.errors,
    () => [], // the run reports the error
  );
  if (mine !== checks) return;
  mark(errors);
  if (errors.length === 0) listErrors(byId("errors"), editor, []);
}, 250);

// --- Running -------------------------------------------------------------------------------------

/** `plays`: plays the result back, unless the user prefers reduced motion. */
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
  engine.stop(); // ends the previous run, whose result is obsolete
  try {
    const { scenario, errors, edits } = await session.validated();
    if (mine !== runs) return;
    show(errors);
    if (errors.length > 0) {
      say(`Not run: ${count(errors.length, "error")}.`);
      return;
    }
    transport.computing(true);
    const ran = await engine.run(scenario, ({ done }) => {
      if (mine === runs) transport.progress(done);
    });
    if (mine !== runs) {
      if (ran !== null) engine.free(ran.run);
      return;
    }
    if (ran === null) {
      say("Stopped.");
      return;
    }
    playback.pause();
    if (result.run !== null) engine.free(result.run);
    shownEdits = edits;
    const wasThere = byId("results").contains(document.activeElement);
    await result.show(scenario, ran);
    if (result.run !== ran.run) return;
    // The focused element may have been replaced.
    if (wasThere && document.activeElement === document.body) transport.focus();
    transport.enable(true);
    transport.stale(isStale());
    playback.begin(result.end, plays && !prefersStill() && playback.speed !== "max");
    if (mine === runs) say(runInWords(ran.results));
  } catch (error) {
    if (mine !== runs) return;
    show([{ argument: error.argument ?? "", message: error.message }]);
    say("Not run: the simulator reported an error.");
  } finally {
    if (mine === runs) transport.computing(false);
  }
}

function mark(errors) {
  showErrors(editor, errors);
  showErrors(byId("transport"), errors);
}

function show(errors) {
  mark(errors);
  listErrors(byId("errors"), document.body, errors);
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

async function choose(name) {
  try {
    await session.load(await loadPreset(name), PRESETS[name]);
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
  ...Object.entries(PRESETS).map(([value, name]) => h("option", { value }, name)),
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
  if (await openLink()) run(false);
});

async function start() {
  const before = loadState();
  // Edits of a linked scenario take precedence over the link.
  const isSame = before !== null && before.link === location.hash;
  if (isSame || !(await openLink())) {
    if (before !== null) session.begin(before);
    else session.begin({ draft: draftOf(await loadPreset(FIRST)), title: PRESETS[FIRST] });
  } else if (before?.isEdited) session.offerRestore(before);
  // The error of an unreadable link stays visible until the next run.
  if (byId("errors").hidden) await run(false);
}

/** For tests: the plotted data, and the totals as written by the core. */
window.paddlegate = {
  plotted: () => result.figures.map(({ plotted }) => plotted),
  totals: () => result.results.map(({ totalsText }) => totalsText),
  scenario: () => result.scenario,
  runs: () => ended,
};

start();

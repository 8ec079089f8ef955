// The page: what was typed, the worker, and what is shown of its answers.
import { byId, debounced, h } from "./dom.mjs";
import { openParts } from "./editors.mjs";
import { Engine } from "./engine.mjs";
import { listFaults, showFaults } from "./faults.mjs";
import { filesBar } from "./files.mjs";
import { jsonFrom } from "./json.mjs";
import { kept } from "./kept.mjs";
import { Playback, prefersStill } from "./playback.mjs";
import { READY, readyScenario } from "./ready.mjs";
import { Result } from "./result.mjs";
import { draftOf } from "./scenario.mjs";
import { Session, TITLE } from "./session.mjs";
import { scenarioFrom } from "./share.mjs";
import { runInWords } from "./summary.mjs";
import { Transport } from "./transport.mjs";

const editor = byId("editor");
const FIRST = "boundary-burst";
const narrow = matchMedia("(max-width: 999px)");
const engine = new Engine();
let shownEdits = 0; // how many there were when the run began that is shown
let runs = 0;
let ended = 0;

const session = new Session(engine, {
  begun() {
    ready.value = Object.keys(READY).find((key) => READY[key] === session.title) ?? "";
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

// --- What is wrong -------------------------------------------------------------------------------

let checks = 0;
const check = debounced(async () => {
  const mine = ++checks;
  const faults = await session.examined().then(
    (known) => known.faults,
    () => [], // told by the run
  );
  if (mine !== checks) return;
  mark(faults);
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
  engine.stop(); // the run before: its result is not wanted any more
  try {
    const { scenario, faults, edits } = await session.examined();
    if (mine !== runs) return;
    show(faults);
    if (faults.length > 0) {
      say(
        `Not run: ${faults.length === 1 ? "one thing is" : `${faults.length} things are`} wrong.`,
      );
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
    // What had the focus may have been replaced.
    if (wasThere && document.activeElement === document.body) transport.focus();
    transport.enable(true);
    transport.stale(isStale());
    playback.begin(result.end, plays && !prefersStill() && playback.speed !== "max");
    if (mine === runs) say(runInWords(ran.results));
  } catch (error) {
    if (mine !== runs) return;
    show([{ argument: error.argument ?? "", message: error.message }]);
    say("Not run: the simulator reported a fault.");
  } finally {
    if (mine === runs) transport.computing(false);
  }
}

function mark(faults) {
  showFaults(editor, faults);
  showFaults(byId("transport"), faults);
}

function show(faults) {
  mark(faults);
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

async function choose(name) {
  try {
    await session.load(await readyScenario(name), READY[name]);
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
  title: () => session.title,
  async opened(text, name) {
    try {
      await session.load(jsonFrom(text), name);
    } catch (error) {
      const message = `${name} cannot be read: ${error.message}`;
      listFaults(byId("faults"), document.body, [{ argument: "", message }]);
      say("The file was not read; the editor is as it was.");
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
  const before = kept();
  // What was done with a link goes before what it was.
  const isSame = before !== null && before.link === location.hash;
  if (isSame || !(await openLink())) {
    if (before !== null) session.begin(before);
    else session.begin({ draft: draftOf(await readyScenario(FIRST)), title: READY[FIRST] });
  } else if (before?.isEdited) session.offerBack(before);
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

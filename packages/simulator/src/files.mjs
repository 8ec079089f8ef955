// The buttons of the editor: open, share, save.
import { codeDialog, shareDialog } from "./dialogs.mjs";
import { button, byId, h } from "./dom.mjs";
import { download, jsonOf } from "./export.mjs";
import { pictureOf } from "./picture.mjs";
import { scenarioOf } from "./scenario.mjs";
import { fragmentOf } from "./share.mjs";

/** `page`: `{ session, result, say(text), title(), opened(text, name), shared(fragment) }` */
export function filesBar(place, page) {
  const { session, result } = page;
  const dialog = byId("dialog");
  const input = h("input", { type: "file", accept: ".json,application/json", hidden: true });
  input.addEventListener("change", async () => {
    const [file] = input.files;
    input.value = "";
    if (file !== undefined) page.opened(await file.text(), file.name);
  });

  const share = async () => {
    try {
      const fragment = await fragmentOf(scenarioOf(session.draft).scenario);
      history.replaceState(null, "", fragment);
      page.shared(fragment);
      shareDialog(dialog, location.href);
    } catch (error) {
      page.say(`This scenario cannot be shared: ${error.message}`);
    }
  };
  const withResult = (work) => () =>
    result.scenario === null
      ? page.say("There is no result yet: run the simulation first.")
      : work();
  const savePicture = async () => {
    const { scenario, results, figure } = result;
    const { policies } = scenario;
    const panels = figure.pictures;
    download(await pictureOf({ title: page.title(), policies, results, panels }), "paddlegate.png");
  };
  const saveTimeline = async () => {
    const names = result.results.map(({ totals }) => totals.name);
    download(await session.engine.csv(result.run, names), "paddlegate.csv");
  };
  const saveScenario = () => download(jsonOf(result.scenario, result.results), "paddlegate.json");
  const showCode = () => codeDialog(dialog, result.scenario);

  place.append(
    button("Open", () => input.click(), { title: "Open a scenario (JSON)" }),
    input,
    button("Share", share),
    button("PNG", withResult(savePicture), { title: "Save the plots as a picture" }),
    button("CSV", withResult(saveTimeline), { title: "Save all decisions" }),
    button("JSON", withResult(saveScenario), { title: "Save the scenario and its totals" }),
    button("Code", withResult(showCode)),
  );
}

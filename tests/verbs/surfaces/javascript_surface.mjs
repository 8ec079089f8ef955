// Prints the public methods of a package for JavaScript with their arguments, as the compiler of TypeScript sees its types.
//
//   node javascript_surface.mjs packages/node/index.d.ts
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { API, SignatureKind } from "typescript/unstable/sync";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const file = resolve(root, process.argv[2]);
const api = new API({ cwd: root });
const config = resolve(
  root,
  process.argv[2].replace(/^(packages\/[a-z]+)\/.*/, "$1/tsconfig.json"),
);
const project = api.updateSnapshot({ openProjects: [config] }).getProjects()[0];
const checker = project.checker;
const module = checker.getSymbolAtLocation(project.program.getSourceFile(file));
const exported = new Map(checker.getExportsOfModule(module).map((it) => [it.name, it]));

// Whether an argument is a bag of options: an interface of the package whose members may be left out.
function isBag(parameter, type) {
  const name = parameter.name;
  return (
    ["options", "request", "response"].includes(name) &&
    checker.getPropertiesOfType(type).length > 0
  );
}

function argumentsOf(signature) {
  return signature.getParameters().flatMap((parameter) => {
    if (parameter.name === "fn") return [];
    const type = checker.getNonNullableType(checker.getTypeOfSymbol(parameter));
    return isBag(parameter, type)
      ? checker.getPropertiesOfType(type).map((it) => it.name)
      : [parameter.name];
  });
}

// Of several forms the one with the most arguments.
function longest(signatures) {
  return signatures.map(argumentsOf).reduce((a, b) => (b.length > a.length ? b : a), []);
}

function methods(name) {
  const type = checker.getDeclaredTypeOfSymbol(exported.get(name));
  const found = {};
  for (const member of checker.getPropertiesOfType(type)) {
    const signatures = checker.getSignaturesOfType(
      checker.getTypeOfSymbol(member),
      SignatureKind.Call,
    );
    if (signatures.length > 0)
      found[member.name.replace(/^__@asyncDispose.*/, "asyncDispose")] = longest(signatures);
  }
  return found;
}

function constructorOf(name) {
  const type = checker.getTypeOfSymbol(exported.get(name));
  return longest(checker.getSignaturesOfType(type, SignatureKind.Construct));
}

const CALCULATIONS = ["callerKey", "graphqlCost", "plainKey"];
const calculations = [...exported.values()].filter((it) => CALCULATIONS.includes(it.name));
console.log(
  JSON.stringify({
    store: { open: constructorOf("Paddlegate"), ...methods("Paddlegate") },
    limiter: methods("Limiter"),
    permit: methods("Permit"),
    gate: exported.has("Gate") ? methods("Gate") : {},
    function: Object.fromEntries(
      calculations.map((it) => [
        it.name,
        longest(checker.getSignaturesOfType(checker.getTypeOfSymbol(it), SignatureKind.Call)),
      ]),
    ),
  }),
);
api.close();

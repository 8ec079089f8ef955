// A scenario in the fragment of the URL, which is not sent to a server.
// "#v1.z." and compressed JSON, or "#v1.j." and plain JSON, both in base64url.
import { jsonFrom } from "./json.mjs";

// The characters of a scenario with about 500,000 pasted times. A short link could decompress to much
// more, and the link of a larger scenario would be too long for browsers.
export const MAX_CHARACTERS = 8 * 1024 * 1024;

export async function fragmentOf(scenario) {
  const text = JSON.stringify(scenario);
  if (text.length > MAX_CHARACTERS) throw new Error("it is too large for a link; save it as JSON");
  const bytes = new TextEncoder().encode(text);
  if (typeof CompressionStream === "undefined") return `#v1.j.${base64(bytes)}`;
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `#v1.z.${base64(new Uint8Array(await new Response(packed).arrayBuffer()))}`;
}

/** Returns the scenario in a fragment; null if the fragment is empty. */
export async function scenarioFrom(fragment) {
  if (fragment === "" || fragment === "#") return null;
  const [, version, form, data] = /^#v(\d+)\.(\w)\.([\w-]*)$/.exec(fragment) ?? [];
  if (version === undefined) throw new Error("it is incomplete, or not a link of the simulator");
  if (version !== "1") throw new Error(`it is from a newer simulator (version ${version})`);
  const bytes = unbase64(data);
  if (form === "j") return jsonFrom(new TextDecoder().decode(bytes));
  if (form !== "z") throw new Error(`its encoding is unknown: ${form}`);
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = unpacked.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return jsonFrom(text);
    text += value;
    if (text.length <= MAX_CHARACTERS) continue;
    await reader.cancel();
    throw new Error(`it is too large, use the JSON file instead: characters_max=${MAX_CHARACTERS}`);
  }
}

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function unbase64(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

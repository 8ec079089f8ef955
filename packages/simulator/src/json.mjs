// Parses JSON and rejects duplicate members, of which JSON.parse would silently keep the last.

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}]/g;

export function jsonFrom(text) {
  const value = JSON.parse(text); // the tokens below assume valid JSON
  const objects = [];
  for (const [token, colon] of text.matchAll(TOKENS)) {
    if (token === "{") objects.push(new Set());
    else if (token === "}") objects.pop();
    else if (colon !== undefined) {
      const name = JSON.parse(token.slice(0, -colon.length));
      const names = objects.at(-1);
      if (names.has(name)) {
        throw new SyntaxError(`duplicate member; remove one: name=${name.slice(0, 40)}`);
      }
      names.add(name);
    }
  }
  return value;
}

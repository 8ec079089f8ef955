// JSON in which no member is there twice: the last would hide the others.

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}]/g;

export function jsonFrom(text) {
  const value = JSON.parse(text); // the tokens below are those of right JSON
  const objects = [];
  for (const [token, colon] of text.matchAll(TOKENS)) {
    if (token === "{") objects.push(new Set());
    else if (token === "}") objects.pop();
    else if (colon !== undefined) {
      const name = JSON.parse(token.slice(0, -colon.length));
      const names = objects.at(-1);
      if (names.has(name)) {
        throw new SyntaxError(`a member is there twice; remove one: name=${name.slice(0, 40)}`);
      }
      names.add(name);
    }
  }
  return value;
}

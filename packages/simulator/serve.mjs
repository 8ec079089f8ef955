// A static server for the page on 127.0.0.1: `node serve.mjs [DIRECTORY]`. Its port is $PORT, by default a free one.
import { createReadStream, realpathSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** Returns a server of a directory; the caller calls `listen`. */
export function serverOf(directory) {
  const root = realpathSync(directory);
  return createServer((request, response) => {
    const refuse = (status) => response.writeHead(status).end(`${status}\n`);
    if (request.method !== "GET" && request.method !== "HEAD") return refuse(405);
    const file = fileAt(root, request.url);
    if (file === null) return refuse(404);
    response.writeHead(200, {
      "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
      "Content-Length": statSync(file).size,
      "Content-Security-Policy": "frame-ancestors 'self'",
      "Cache-Control": "no-cache",
      "X-Content-Type-Options": "nosniff",
    });
    if (request.method === "HEAD") return response.end();
    return createReadStream(file)
      .on("error", () => response.destroy())
      .pipe(response);
  });
}

/** Returns the file of a URL, or null if there is none inside the root. */
function fileAt(root, url) {
  try {
    const path = decodeURIComponent(url.replace(/[?#].*$/s, ""));
    if (path.includes("\0")) return null;
    const file = realpathSync(join(root, path.endsWith("/") ? `${path}index.html` : path));
    return file.startsWith(root + sep) && statSync(file).isFile() ? file : null;
  } catch {
    return null;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const here = dirname(fileURLToPath(import.meta.url));
  const server = serverOf(process.argv[2] ?? join(here, "dist"));
  server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
    console.log(`http://127.0.0.1:${server.address().port}/`);
  });
}

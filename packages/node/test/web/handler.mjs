// A function of a Request to a Response, of whose server it knows the address of the caller alone.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { getRequestListener } from "@hono/node-server";

// The other entry.
const { limitHandler } = createRequire(import.meta.url)("../../hono.js");

export function serve({ limiter, options, stream }) {
  const handler = async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/missing") return new Response("missing", { status: 404 });
    if (pathname === "/fails") throw new Error("as the kit asked");
    return new Response(pathname === "/stream" ? Readable.toWeb(stream()) : "ok");
  };
  const limited = limitHandler(limiter, handler, options);
  const fetch = (request, { incoming }) => limited(request, { incoming });
  const errorHandler = () => new Response("failed", { status: 500 });
  return createServer(getRequestListener(fetch, { errorHandler })).listen(0, "127.0.0.1");
}

export const header = (request, name) => request.headers.get(name) ?? undefined;

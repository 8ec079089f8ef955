// NestJS 11 on Express, as the adapter kit starts it.
import "reflect-metadata";
import { Controller, Get, Module, Res, StreamableFile } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Limited, PaddlegateModule } from "../../nest.mjs";

export async function serve({ limiter, options, stream }) {
  class Routes {
    index() {
      return "ok";
    }
    missing(response) {
      response.status(404).send("missing");
    }
    fails() {
      throw new Error("as the kit asked");
    }
    stream() {
      return new StreamableFile(stream());
    }
  }
  const { prototype } = Routes;
  const paths = { index: "/", missing: "/missing", fails: "/fails", stream: "/stream" };
  for (const [name, path] of Object.entries(paths)) {
    Get(path)(prototype, name, Object.getOwnPropertyDescriptor(prototype, name));
  }
  Res()(prototype, "missing", 0);
  Limited(typeof limiter === "function" ? limiter : "api", options)(Routes);
  Controller()(Routes);
  class App {}
  const limits = typeof limiter === "function" ? {} : { api: limiter };
  const imports = [PaddlegateModule.forRoot({ url: "memory://", limits })];
  Module({ imports, controllers: [Routes] })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, "127.0.0.1");
  return app.getHttpServer();
}

export const header = (request, name) => request.headers[name];

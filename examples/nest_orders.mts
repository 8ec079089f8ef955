// An application of NestJS: a limit for each caller, a costly route, and one that is not limited.
//
// Guide: docs/src/guides/nest.md

import "reflect-metadata";
import assert from "node:assert/strict";
import { Controller, Get, Module, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { window } from "paddlegate";
import { Limited, PaddlegateModule } from "paddlegate/nest";

type Incoming = { headers: Record<string, string | undefined> };

@Controller("orders")
@Limited("orders", { key: ({ headers }: Incoming) => headers["x-user"] ?? "nobody" })
class Orders {
  @Get()
  list() {
    return ["order 1"];
  }

  @Post()
  @Limited("orders", { key: ({ headers }: Incoming) => headers["x-user"] ?? "nobody", cost: 5 })
  create() {
    return { created: true };
  }

  @Get("health")
  @Limited(false)
  health() {
    return "well";
  }
}

@Module({
  // Without a URL the store is that of PADDLEGATE_URL, or memory.
  imports: [PaddlegateModule.forRoot({ limits: { orders: window(10, "hour") } })],
  controllers: [Orders],
})
class App {}

const app = await NestFactory.create(App, { logger: false });
await app.listen(0, "127.0.0.1");
const url = await app.getUrl();
const call = async (method: string, path: string, user: string) => {
  const response = await fetch(`${url}/orders${path}`, { method, headers: { "x-user": user } });
  await response.text();
  return response.status;
};

try {
  const ann = [];
  for (const method of ["POST", "POST", "GET"]) ann.push(await call(method, "", "ann"));
  const ben = await call("GET", "", "ben");
  const health = await call("GET", "/health", "ann");
  console.log(`ann: ${ann.join(" ")}, ben: ${ben}, health: ${health}`);
  assert.deepEqual([...ann, ben, health], [201, 201, 429, 200, 200]);
} finally {
  await app.close();
}

"""Routes of FastAPI with a limit for each API key, which OpenAPI shows.

Guide: docs/src/guides/fastapi.md
"""

from typing import Annotated

from fastapi import FastAPI, Header
from fastapi.testclient import TestClient
from paddlegate import AsyncPermit, Paddlegate
from paddlegate.fastapi import limited

pg = Paddlegate()  # PADDLEGATE_URL, or this process
tokens = pg.points("tokens", 1000, "minute", keyed=True)


def api_key(x_api_key: Annotated[str, Header()]) -> str:
    return x_api_key


app = FastAPI()


@app.post("/search", dependencies=[limited(tokens, key=api_key, cost=100)])
async def search():
    return "found"


@app.post("/answer")
async def answer(permit: Annotated[AsyncPermit, limited(tokens, key=api_key, cost=500)]):
    return permit.decision.remaining


with TestClient(app, headers={"X-API-Key": "ada"}) as client:
    for path in "/answer", "/search", "/answer", "/search":
        response = client.post(path)
        print(path, response.status_code, response.headers["RateLimit"])
print(app.openapi()["paths"]["/search"]["post"]["responses"]["429"]["description"])

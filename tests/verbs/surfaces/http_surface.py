"""Prints the operations of the server's OpenAPI document with their members and parameters."""

import json
import pathlib
import subprocess
import urllib.request
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMAND = [ROOT / "target/release/paddlegate", "serve", "--listen", "127.0.0.1:0"]


def document() -> dict[str, Any]:
    """Ask a server of its own for its document."""
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().removeprefix("listening on ").strip()
            with urllib.request.urlopen(f"{url}/openapi.json", timeout=60) as response:
                found: dict[str, Any] = json.load(response)
                return found
        finally:
            process.terminate()


def members(schema: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    """Return the members of a body, of all its forms."""
    if "$ref" in schema:
        return members(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    found = list(schema.get("properties", {}))
    for form in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(form, []):
            found += members(part, schemas)
    return found


openapi = document()
operations: dict[str, list[str]] = {}
for path, methods in openapi["paths"].items():
    for method, operation in methods.items():
        if not isinstance(operation, dict) or "responses" not in operation:
            continue
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        operations[f"{method.upper()} {path}"] = members(
            body.get("schema", {}), openapi["components"]["schemas"]
        ) + [
            it["name"] for it in operation.get("parameters", []) if it["in"] in ("query", "header")
        ]
print(json.dumps({"function": operations}))

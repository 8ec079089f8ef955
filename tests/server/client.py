"""A client that is made from the OpenAPI document of the server, and checks its answers by it."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import jsonschema_rs

JSON = "application/json"
PROBLEM = "application/problem+json"


class ProblemError(Exception):
    """An answer of 4xx or 5xx."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"{status} {body['detail']}")
        self.status = status
        self.body = body


class Client:
    """Has a method for each operation, named by its `operationId`: `acquire("api", cost=2)`."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = url
        self._token = token
        self.document: dict[str, Any] = self._send("GET", "/openapi.json", None)[1]
        self.operations = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, item in self.document["paths"].items()
            for method, operation in item.items()
        }

    def __getattr__(self, name: str) -> Any:
        try:
            method, path, operation = self.operations[name]
        except KeyError:
            raise AttributeError(name) from None

        def call(*names: str, query: dict[str, Any] | None = None, **body: Any) -> Any:
            filled = path
            for given in names:
                filled = filled.replace("{name}", urllib.parse.quote(given, safe=""), 1)
            if query:
                filled += "?" + urllib.parse.urlencode(query)
            takes_body = "requestBody" in operation
            if takes_body:
                self._check(operation["requestBody"]["content"][JSON]["schema"], body)
            status, answer = self._send(method, filled, body if takes_body else None)
            self._check_answer(operation, status, answer)
            if status >= 400:
                raise ProblemError(status, answer)
            return answer

        return call

    def _check_answer(self, operation: dict[str, Any], status: int, answer: Any) -> None:
        response = operation["responses"][str(status)]
        if "$ref" in response:
            key = response["$ref"].rpartition("/")[2]
            response = self.document["components"]["responses"][key]
        (media,) = response["content"].values()
        self._check(media["schema"], answer)

    def _check(self, schema: dict[str, Any], value: Any) -> None:
        whole = {"components": self.document["components"], **schema}
        jsonschema_rs.Draft202012Validator(whole).validate(value)

    def _send(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": JSON} if data else {}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                assert response.headers["content-type"] == JSON
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            refused = error
        assert refused.headers["content-type"] == PROBLEM
        return refused.code, json.load(refused)

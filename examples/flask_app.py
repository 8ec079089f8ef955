"""Views of Flask that are limited by user, and an app that is limited by address.

Guide: docs/src/guides/flask.md
"""

from flask import Flask
from paddlegate import Paddlegate
from paddlegate.flask import init_app, limited

pg = Paddlegate()  # PADDLEGATE_URL, or this process
per_user = pg.window("search", 2, "minute", keyed=True)
per_address = pg.window("site", 5, "minute", keyed=True, on_unavailable="fail_open")

app = Flask(__name__)
init_app(app, per_address, trusted_proxies=["127.0.0.1"])


@app.get("/search")
@limited(per_user, key=lambda request: request.headers.get("X-User"))
def search():
    return "found"


client = app.test_client()
for user in "ada", "ada", "ada", "bob", None, None:
    headers = {"X-User": user} if user else {}
    response = client.get("/search", headers={**headers, "X-Forwarded-For": "192.0.2.1"})
    print(user, response.status_code, response.headers.get("Retry-After", ""))

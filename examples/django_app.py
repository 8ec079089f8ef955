"""A site of Django within a limit for each address, and a view with one for each user.

Guide: docs/src/guides/django.md
"""

from django import setup
from django.conf import settings
from paddlegate import Paddlegate

pg = Paddlegate()  # PADDLEGATE_URL, or this process
per_address = pg.window("site", 5, "minute", keyed=True)
per_user = pg.window("search", 2, "minute", keyed=True)

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=["paddlegate.django.RateLimitMiddleware"],
    PADDLEGATE={"LIMITER": per_address, "FIELDS": "x"},
    LOGGING_CONFIG=None,
)
setup()

from django.http import HttpResponse  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import path  # noqa: E402
from paddlegate.django import limited  # noqa: E402


@limited(per_user, key=lambda request: request.headers.get("X-User"))
def search(request):
    return HttpResponse("found")


urlpatterns = [path("search", search)]

client = Client()
for user in "ada", "ada", "ada", "bob", "carl", "dora":
    response = client.get("/search", headers={"X-User": user})
    print(user, response.status_code, response.headers["X-RateLimit-Remaining"])

"""A view of Django REST framework with a throttle that is exact over all processes.

Guide: docs/src/guides/drf.md
"""

from django import setup
from django.conf import settings
from paddlegate import Paddlegate

pg = Paddlegate()  # PADDLEGATE_URL, or this process
per_user = pg.window("search", 2, "minute", keyed=True)

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    LOGGING_CONFIG=None,
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None},
)
setup()

from django.urls import path  # noqa: E402
from paddlegate.drf import Throttle  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.test import APIClient  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


class Search(APIView):
    throttle_classes = (Throttle.of(per_user, key=lambda request: request.headers.get("X-User")),)

    def get(self, request):
        return Response({"left": request.paddlegate.decision.remaining})


urlpatterns = [path("search", Search.as_view())]

client = APIClient()
for user in "ada", "ada", "ada", "bob":
    response = client.get("/search", headers={"X-User": user}, format="json")
    print(user, response.status_code, response.data)

from paddlegate import Paddlegate, graphql_cost

pg = Paddlegate("redis://127.0.0.1:12845")
shop = pg.points("shopify-43", 1000, 20)
query = "{ products(first: 10) { nodes { id } } }"

answer = """{"data": {}, "extensions": {"cost": {
    "requestedQueryCost": 12, "actualQueryCost": 7, "throttleStatus": {
    "maximumAvailable": 2000.0, "currentlyAvailable": 1993, "restoreRate": 100.0}}}}"""

with shop.within_limit(estimate=graphql_cost(query, rules="shopify")) as permit:
    # Settles 7, and teaches all processes 2000 points at 100 a second.
    permit.learn({"Content-Type": "application/json"}, answer)

shop.learn({"Retry-After": "1"}, status=429)  # pauses all processes for a second

import json
import sys
import time

from paddlegate import Paddlegate

api = Paddlegate(timeout=20).window(sys.argv[1], 20, 0.5)
input()
left = {True: 30, False: 30}
while max(left.values()) > 0:
    decision = api.try_acquire()
    left[decision.allowed] -= 1
    retry = None if decision.allowed else round(decision.retry_after * 1e6)
    print(json.dumps({"at": decision.at_us, "retry": retry}))
    time.sleep(0.002)

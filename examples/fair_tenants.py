"""Two tenants share one worker: one has queued twelve jobs, the other three, and they take turns.

Guide: docs/src/guides/fair-tenants.md
"""

from paddlegate import Paddlegate

pg = Paddlegate()  # PADDLEGATE_URL, or this process
renders = pg.concurrent("renders", 1)

running = renders.admit("warm-up")
waiting = [(f"acme-{number}", "acme", 1) for number in range(12)]
waiting += [(f"globex-{number}", "globex", 2) for number in range(3)]
for job, tenant, weight in waiting:
    renders.admit(job, share=tenant, weight=weight)

# A worker asks for each job in turn until one may run; the limiter decides which.
order = []
while waiting:
    renders.release(running.permit)
    for entry in waiting:
        job, tenant, weight = entry
        admission = renders.admit(job, share=tenant, weight=weight)
        if admission.action == "run":
            running = admission
            order.append(job)
            waiting.remove(entry)
            break
renders.release(running.permit)

print(" ".join(order[:5]))  # -> globex-0 acme-0 globex-1 globex-2 acme-1
print(len(order))  # -> 15

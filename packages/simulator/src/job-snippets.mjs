// The code for jobs that take a ticket and return at their turn. Each function takes the facts of
// snippets.mjs and the code that creates the limiter.

import * as costs from "./cost-snippets.mjs";

const joined = (lines) => lines.map((line) => `${line}\n`).join("");
const asked = ({ actual }, cost) => `${actual === null ? "cost" : "estimate"}${cost}`;

/** `names`: the imports. */
export function python(maker, facts, names) {
  const after = [];
  if (facts.actual !== null) {
    after.push(
      `    limiter.correct(job.permit, ${costs.python(facts.actual)})  # the actual cost of the call`,
    );
  }
  if (facts.isHeld)
    after.push("    limiter.release(job.permit)  # when the job has ended, also after an error");
  return `from paddlegate import ${names}

pg = Paddlegate("redis://localhost:6379/0")
limiter = pg.${maker}

job = limiter.admit("job-1", "reschedule", ${asked(facts, `=${costs.python(facts.cost)}`)})
if job.action == "run":
    print("the call")
${joined(after)}else:
    print("come back in", job.after, "s, with the same id")
`;
}

export function node(maker, facts, names) {
  const after = [];
  if (facts.actual !== null) {
    after.push(
      `  await permit.pointsUsed(${costs.node(facts.actual)}); // the actual cost of the call`,
    );
  }
  if (facts.isHeld)
    after.push("  await permit.release(); // when the job has ended, also after an error");
  const permit = after.length > 0 ? ", permit" : "";
  return `import { ${names} } from "paddlegate";

const pg = new Paddlegate("redis://localhost:6379/0");
const limiter = pg.${maker};

const request = { onLimit: "reschedule", ${asked(facts, `: ${costs.node(facts.cost)}`)} };
const { action, afterMs${permit} } = await limiter.admit("job-1", request);
if (action === "run") {
  console.log("the call");
${joined(after)}} else {
  console.log(\`come back in \${afterMs} ms, with the same id\`);
}
`;
}

export function ruby(maker, facts) {
  const after = [];
  if (facts.actual !== null) {
    after.push(
      `  job.permit.points_used(${costs.node(facts.actual)}) # the actual cost of the call`,
    );
  }
  if (facts.isHeld)
    after.push("  job.permit.release # when the job has ended, also after an error");
  return `require "paddlegate"

Paddlegate.configure { |config| config.url = "redis://localhost:6379/0" }
limiter = Paddlegate.${maker}

job = limiter.admit("job-1", on_limit: :reschedule, ${asked(facts, `: ${costs.node(facts.cost)}`)})
if job.action == :run
  puts "the call"
${joined(after)}else
  puts "come back in #{job.after} s, with the same id"
end
`;
}

/** `names`: the imports; `request`: such as `Request::cost(1)`; `settling`: the code after the call. */
export function rust(maker, { names, request, settling }) {
  const time = maker.includes("Duration::") ? "use std::time::Duration;\n\n" : "";
  return `${time}use paddlegate::{Action, ${names}};

fn main() -> paddlegate::Result<()> {
    let pg = Paddlegate::open("redis://localhost:6379/0", None)?;
    let limiter = pg.${maker};
    let job = limiter.admit("job-1", ${request}, OnLimit::Reschedule)?;
    if job.action == Action::Run {
        println!("the call");
${settling}    } else {
        println!("come back after {:?}, with the same id", job.after);
    }
    Ok(())
}
`;
}

/** `list`: the limits if there are several; `request`: such as `.cost = 1`; `after`: the lines after the call. */
export function c(maker, { list, request, after }) {
  return `#include <paddlegate.h>
#include <stdio.h>

int main(void) {
${list}  pg_store *store;
  pg_limiter *limiter;
  pg_admission job;
${after.length > 0 ? "  pg_settlement settlement;\n" : ""}  pg_error error = {0};

  if (pg_store_open("redis://localhost:6379/0", 0, &store, &error) ||
      ${maker} ||
      pg_admit(limiter, "job-1", "reschedule", &(pg_request){${request}}, &job, &error)) {
    fprintf(stderr, "%s: %s\\n", pg_error_name(error.code), error.message);
    return 1;
  }
  if (job.action == PG_ACTION_RUN) {
    puts("the call");
${joined(after).replaceAll("decision.permit", "job.decision.permit")}  } else {
    printf("come back in %lld us, with the same id\\n", (long long)job.after_us);
  }
  pg_limiter_close(limiter, NULL);
  pg_store_close(store, NULL);
  return 0;
}
`;
}

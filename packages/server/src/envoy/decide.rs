//! `decide`: the decision on a request of Envoy.

use paddlegate::{Cost, Decision, Error, Kind, Limiter, LimiterUnits, MAX_TOGETHER, MAX_UNITS, Operation, Request};

use super::answer::Answer;
use super::mapping::{Mapping, key_of};
use super::messages::{Descriptor, RateLimitRequest, RateLimitResponse};
use crate::access::{Access, Scope};
use crate::app::App;
use crate::problem::Problem;

/// The maximum number of descriptors of a request, each of which may be a decision.
const MAX_DESCRIPTORS: usize = 100;

/// What a descriptor asks of a limiter.
struct Asked {
    descriptor: usize,
    limiter: Limiter,
    verb: Verb,
    has_fields: bool,
}

/// What is done with the hits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    /// Takes them if every limit allows it.
    Acquire(u64),
    /// Charges them in any case.
    Debit(u64),
    /// Looks whether one hit would pass, and takes nothing.
    Peek,
}

/// Whether several limiters decided in one call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Together {
    Decided,
    /// They cannot, or there is only one.
    Apart,
    /// One of them never grants as much, and nothing was taken.
    TooLarge,
}

impl Asked {
    /// Returns whether it asks for more units than a limit has.
    fn is_too_large(&self) -> bool {
        let Verb::Acquire(units) = self.verb else { return false };
        let mut limits = self.limiter.policy().limits().iter();
        limits.any(|limit| limit.kind() != Kind::Throttle && limit.amount() < units)
    }
}

/// Decides on all descriptors: where they can, those that take units do so in one call, all or none; the others follow one after
/// another. After a refusal nothing more is taken.
pub(super) async fn decide(
    app: &App,
    access: &Access,
    request: &RateLimitRequest,
) -> Result<RateLimitResponse, Problem> {
    check(request)?;
    let limits = app.limits();
    let mut asked = Vec::new();
    for (i, descriptor) in request.descriptors.iter().enumerate() {
        asked.extend(ask(limits.envoy(), access, request, (i, descriptor))?);
    }
    let mut answer = Answer::new(request.descriptors.len());
    let together = take_together(app, &asked, &mut answer).await?;
    if together == Together::Decided {
        asked.retain(|asked| !matches!(asked.verb, Verb::Acquire(_)));
    }
    for asked in &asked {
        if together == Together::TooLarge || answer.is_over() {
            look(app, asked, &mut answer).await?;
            continue;
        }
        match one(app, &asked.limiter, asked.verb, asked.has_fields).await {
            Ok(decision) => answer.add(asked.descriptor, &asked.limiter, &decision, asked.has_fields),
            Err(error) if error.argument() == Some("cost") => look(app, asked, &mut answer).await?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(answer.into_response())
}

/// Adds what a descriptor would get, and takes nothing. More hits than the limiter ever grants are refused: an error would be
/// no refusal to Envoy.
async fn look(app: &App, asked: &Asked, answer: &mut Answer) -> Result<(), Problem> {
    let decision = one(app, &asked.limiter, Verb::Peek, asked.has_fields).await?;
    answer.add(asked.descriptor, &asked.limiter, &decision, asked.has_fields);
    if asked.is_too_large() {
        answer.refuse(asked.descriptor);
    }
    Ok(())
}

fn check(request: &RateLimitRequest) -> Result<(), Problem> {
    if request.domain.is_empty() {
        return Err(Problem::invalid("domain", "must not be empty"));
    }
    let count = request.descriptors.len();
    if !(1..=MAX_DESCRIPTORS).contains(&count) {
        let detail = format!("must be 1 to {MAX_DESCRIPTORS}: descriptors={count}");
        return Err(Problem::invalid("descriptors", detail));
    }
    for (i, descriptor) in request.descriptors.iter().enumerate() {
        let fault = |member: &str, detail: &str| Err(Problem::invalid(format!("descriptors[{i}].{member}"), detail));
        if descriptor.entries.is_empty() {
            return fault("entries", "must have an entry");
        }
        if descriptor.entries.iter().any(|entry| entry.key.is_empty()) {
            return fault("entries", "the key of an entry must not be empty");
        }
        if descriptor.is_negative_hits {
            return fault("is_negative_hits", "hits cannot be given back");
        }
    }
    Ok(())
}

/// Returns what a descriptor asks, and nothing where no rule matches or the rule lets all pass.
fn ask(
    mapping: &Mapping,
    access: &Access,
    request: &RateLimitRequest,
    (i, descriptor): (usize, &Descriptor),
) -> Result<Option<Asked>, Problem> {
    let Some((rule, values)) = mapping.find(&request.domain, &descriptor.entries) else { return Ok(None) };
    let Some(limiter) = &rule.limiter else { return Ok(None) };
    access.check(Scope::Decide, limiter.name())?;
    if descriptor.limit.is_some() {
        let detail = "a limit of the request is not taken over; change it in the limits file or by an override";
        return Err(Problem::invalid(format!("descriptors[{i}].limit"), detail));
    }
    let limiter = if limiter.is_keyed() { limiter.with_key(&key_of(&values))? } else { limiter.clone() };
    let hits = descriptor.hits_addend.unwrap_or_else(|| u64::from(request.hits_addend.max(1)));
    let verb = match hits.min(MAX_UNITS) {
        0 => Verb::Peek,
        hits if rule.debit => Verb::Debit(hits),
        hits => Verb::Acquire(hits),
    };
    Ok(Some(Asked { descriptor: i, limiter, verb, has_fields: rule.headers }))
}

/// Takes the units of several limiters by one decision, if they can.
async fn take_together(app: &App, asked: &[Asked], answer: &mut Answer) -> Result<Together, Problem> {
    let takes = |asked: &&Asked| matches!(asked.verb, Verb::Acquire(_));
    let taking: Vec<&Asked> = asked.iter().filter(takes).collect();
    let is_alone =
        |(i, asked): (usize, &&Asked)| taking[..i].iter().all(|other| other.limiter.name() != asked.limiter.name());
    if !(2..=MAX_TOGETHER).contains(&taking.len()) || !taking.iter().enumerate().all(is_alone) {
        return Ok(Together::Apart);
    }
    let limiters: Vec<&Limiter> = taking.iter().map(|asked| &asked.limiter).collect();
    let Ok(several) = app.paddlegate().together(&limiters) else { return Ok(Together::Apart) };
    let units = |asked: &&Asked| match asked.verb {
        Verb::Acquire(units) | Verb::Debit(units) => units,
        Verb::Peek => 0,
    };
    let cost: Vec<LimiterUnits<'_>> = taking
        .iter()
        .map(|asked| LimiterUnits { limiter: Some(asked.limiter.name()), label: None, units: units(asked) })
        .collect();
    let request = Request { limits: true, ..Request::cost(Cost::ByLimiter(&cost)) };
    let mut decision = match app.store_times().run(&several, Operation::Acquire(request)).await {
        Ok(answer) => decision(answer)?,
        Err(error) => {
            return match error.argument() {
                // In a cluster they would have to be of one group.
                Some("group") => Ok(Together::Apart),
                Some("cost") => Ok(Together::TooLarge),
                _ => Err(error.into()),
            };
        }
    };
    let descriptors: Vec<(usize, bool)> = taking.iter().map(|asked| (asked.descriptor, asked.has_fields)).collect();
    answer.add_together(&descriptors, &several, &mut decision);
    Ok(Together::Decided)
}

async fn one(app: &App, limiter: &Limiter, verb: Verb, limits: bool) -> Result<Decision, Error> {
    let request = |units: u64| Request { limits, ..Request::cost(units) };
    let operation = match verb {
        Verb::Acquire(units) => Operation::Acquire(request(units)),
        Verb::Debit(units) => Operation::Debit(Cost::Units(units)),
        Verb::Peek => Operation::Peek(request(1)),
    };
    decision(app.store_times().run(limiter, operation).await?)
}

fn decision(answer: paddlegate::Answer) -> Result<Decision, Error> {
    match answer {
        paddlegate::Answer::Decision(decision) => Ok(decision),
        other => Err(Error::internal(format!("unexpected reply type: {other:?}"))),
    }
}

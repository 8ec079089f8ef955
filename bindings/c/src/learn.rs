//! What upstream says of its budget.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::slice;

use paddlegate_core::upstream::Response;
use paddlegate_core::{
    Answer, CostRules, Error as CoreError, Feedback, Learned as CoreLearned, Limiter, MAX_PAUSE, Micros, Operation,
    Provider, Result, UpstreamReport,
};

use crate::call::{GRACE, unexpected};
use crate::control::{PG_NOT_GIVEN, amounts, given, moment, place};
use crate::decision::{Settlement, number};
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::time;
use crate::text;

/// More names and values than any answer has.
const MAX_WORDS: usize = 1 << 16;

/// What became of a report: what it has changed, and what it has not, and why. What was known already is in neither list.
///
/// The lists have a word or a sentence in each line, with a line feed between them. With several limits the index of the
/// limit follows the word, as in `remaining[1]`.
#[repr(C)]
pub struct Learned {
    /// What became of the permit; PG_SETTLEMENT_NONE when no cost of a permit was told.
    pub settlement: Settlement,
    /// What the call did cost, as the answer says; -1 when it does not.
    pub cost: i64,
    /// How long the answer asks to pause; -1 when it does not.
    pub pause_us: i64,
    /// Of whom a refusal is: "user", "shared", or "global", which concerns all limiters of this API; empty when the
    /// answer does not say. Only Discord does.
    pub scope: [c_char; 16],
    /// What the upstream calls the budget that counted the call; empty when it does not say. Only Discord does.
    pub bucket: [c_char; 136],
    /// What has changed: "limit", "interval", "remaining", "reset" and "pause".
    pub learned: [c_char; 512],
    /// What was said and changed nothing, with the reason: "remaining: calls are open".
    pub ignored: [c_char; 4096],
}

impl Learned {
    const NONE: Self = Self {
        settlement: Settlement::None,
        cost: -1,
        pause_us: -1,
        scope: [0; 16],
        bucket: [0; 136],
        learned: [0; 512],
        ignored: [0; 4096],
    };
}

impl From<CoreLearned> for Learned {
    fn from(core: CoreLearned) -> Self {
        Self {
            settlement: core.settlement.map_or(Settlement::None, Settlement::from),
            cost: number(core.cost),
            pause_us: number(core.pause.map(|Micros(micros)| micros)),
            scope: text::write(core.scope.unwrap_or_default()),
            bucket: text::write(core.bucket.as_deref().unwrap_or_default()),
            learned: text::write(&core.learned.join("\n")),
            ignored: text::write(&core.ignored.join("\n")),
        }
    }
}

/// A report on its way; what became of it may be of no interest.
fn told(
    learned: Option<&mut MaybeUninit<Learned>>,
    error: Option<&mut MaybeUninit<Error>>,
    ask: impl FnOnce() -> Result<Answer>,
) -> Code {
    let mut unwanted = MaybeUninit::uninit();
    guard_into(
        "learned",
        Some(learned.unwrap_or(&mut unwanted)),
        || Learned::NONE,
        error,
        || match ask()? {
            Answer::Report(learned) => Ok((*learned).into()),
            other => Err(unexpected(&other)),
        },
    )
}

/// Takes over what upstream says of the budget behind one limit, counted from 0, for all processes.
///
/// The permit is that of the call which upstream answered, or NULL; its time tells older reports
/// from newer ones. Every number may be PG_NOT_GIVEN. remaining units are left there, without those
/// that are still to be corrected here. amount and interval_us are the numbers that the limit has
/// there, as in pg_limit; instead of the interval restore_rate says how many units come back in a
/// second, 0 for not given. The interval of a bucket ends after reset_in_us, or at reset_at_us
/// since 1970. at_us as in pg_request; learned, which gets what became of all that, may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_report_budget(
    limiter: *const LimiterHandle,
    permit: *const c_char,
    index: i64,
    remaining: i64,
    amount: i64,
    interval_us: i64,
    restore_rate: f64,
    reset_in_us: i64,
    reset_at_us: i64,
    at_us: i64,
    learned: Option<&mut MaybeUninit<Learned>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    told(learned, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let permit = unsafe { text::read_some("permit", permit) }?;
        let (index, at) = (place(index)?, time(at_us)?);
        let remaining = given("remaining", remaining)?;
        let reset = moment(("reset_in", reset_in_us), ("reset_at", reset_at_us))?;
        LIMITERS.with(limiter, |limiter| {
            let (amount, mut interval) = amounts(amount, interval_us)?;
            if restore_rate != 0.0 {
                interval = refill(limiter, index, amount, interval, restore_rate)?;
            }
            let budgets = limiter.budget_updates(index, remaining, amount, interval, reset)?;
            let report = UpstreamReport { permit, budgets: &budgets, ..UpstreamReport::default() };
            limiter.run(Operation::ApplyReport { report, at }, GRACE)
        })
    })
}

/// The interval in which an amount comes back at a rate. A limit that is not there is left to the core.
fn refill(
    limiter: &Limiter,
    index: usize,
    amount: Option<u64>,
    interval: Option<Micros>,
    rate: f64,
) -> Result<Option<Micros>> {
    if interval.is_some() {
        return Err(CoreError::invalid("restore_rate", "give an interval or a rate, not both"));
    }
    let Some(known) = limiter.policy().limits().get(index) else { return Ok(None) };
    Micros::of_rate("restore_rate", amount.unwrap_or(known.amount()), rate).map(Some)
}

/// Takes over what the answer of an upstream API says of its budgets, for all processes: settles the
/// permit of the call by its cost, corrects what is left, learns new numbers, and pauses after a
/// refusal.
///
/// The permit is NULL when the call had none. provider is NULL for "auto", or the name of one such as
/// "shopify". headers holds header_words texts: a name, its value, the next name and so on; a value
/// that is NULL is not there. body has body_length bytes and may be NULL. What is not understood says
/// nothing. status is PG_NOT_GIVEN when it is not known; then only an answer is a refusal that the provider's documents tie
/// to one. A pause lasts at most max_pause_us, PG_NOT_GIVEN for one hour. A limit is raised to at most max_learned units,
/// PG_NOT_GIVEN for ten times the policy's own. learned, which gets what became of all that, may be NULL. at_us as in
/// pg_request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_learn_from_response(
    limiter: *const LimiterHandle,
    permit: *const c_char,
    provider: *const c_char,
    status: i32,
    headers: *const *const c_char,
    header_words: usize,
    body: *const c_char,
    body_length: usize,
    max_pause_us: i64,
    max_learned: i64,
    at_us: i64,
    learned: Option<&mut MaybeUninit<Learned>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    told(learned, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let permit = unsafe { text::read_some("permit", permit) }?;
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let provider = Provider::from_name(unsafe { text::read_or("provider", provider, Provider::Auto.name()) }?)?;
        let status = (i64::from(status) != PG_NOT_GIVEN).then(|| {
            u16::try_from(status)
                .map_err(|_| CoreError::invalid("status", format!("must be an http status code: status={status}")))
        });
        let status = status.transpose()?;
        // SAFETY: the caller passes NULL or a list of so many words, each NULL or a text that ends with a zero byte.
        let headers = unsafe { pairs(headers, header_words) }?;
        // SAFETY: the caller passes NULL or as many bytes as it says.
        let body = String::from_utf8_lossy(unsafe { text::bytes("body", body, body_length) }?);
        let max_pause = given("max_pause", max_pause_us)?.map_or(MAX_PAUSE, Micros);
        let max_learned = given("max_learned", max_learned)?;
        let at = time(at_us)?;
        LIMITERS.with(limiter, |limiter| {
            let response = Response { status, headers: &headers, body: &body };
            let lesson =
                Feedback::read(provider, &response, max_pause).lesson(limiter.policy(), max_pause, max_learned);
            limiter.run(Operation::ApplyReport { report: lesson.report(permit), at }, GRACE)
        })
    })
}

/// The headers that are texts; what upstream sends beside is no mistake of the caller.
unsafe fn pairs<'a>(headers: *const *const c_char, words: usize) -> Result<Vec<(&'a str, &'a str)>> {
    let invalid = |message: String| Err(CoreError::invalid("headers", message));
    let words = match words {
        0 => return Ok(Vec::new()),
        _ if headers.is_null() => return invalid("is NULL".to_owned()),
        _ if words % 2 == 1 => return invalid(format!("must be names and values: header_words={words}")),
        _ if words > MAX_WORDS => return invalid(format!("are more than {MAX_WORDS}: header_words={words}")),
        // SAFETY: not NULL, so a list of the caller of `words` pointers.
        _ => unsafe { slice::from_raw_parts(headers, words) },
    };
    // SAFETY: not NULL, so a text of the caller that ends with a zero byte.
    let text = |word: *const c_char| (!word.is_null()).then(|| unsafe { CStr::from_ptr(word) }.to_str().ok()).flatten();
    Ok(words.chunks_exact(2).filter_map(|pair| Some((text(pair[0])?, text(pair[1])?))).collect())
}

/// What a GraphQL query will cost in points, said before it is sent.
///
/// variables is a JSON object as text, NULL for none. operation names one of several operations, NULL
/// when there is one. rules are "shopify" or "github", NULL for shopify.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_graphql_cost(
    query: *const c_char,
    variables: *const c_char,
    operation: *const c_char,
    rules: *const c_char,
    units: Option<&mut MaybeUninit<i64>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "units",
        units,
        || -1,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let query = unsafe { text::read("query", query) }?;
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let variables = unsafe { text::read_or("variables", variables, "") }?;
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let operation = unsafe { text::read_or("operation", operation, "") }?;
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let rules = CostRules::from_name(unsafe { text::read_or("rules", rules, CostRules::Shopify.name()) }?)?;
            Ok(number(Some(paddlegate_core::graphql_cost(query, variables, Some(operation), rules)?)))
        },
    )
}

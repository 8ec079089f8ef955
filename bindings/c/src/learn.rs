//! Reports of an upstream API on its budget.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::slice;

use paddlegate_core::{
    AdminRequest, Answer, CostRules, Deadline, Error as CoreError, LearnOptions, Learned as CoreLearned, Micros, Result,
};

use crate::call::unexpected;
use crate::control::{micros, numbers, optional, run_request};
use crate::decision::{Settlement, number};
use crate::error::{Code, Error};
use crate::guard::guard_into;
use crate::limiter::LimiterHandle;
use crate::text;

/// The maximum number of names and values of headers, more than any response has.
const MAX_WORDS: usize = 1 << 16;

/// The result of a report of the upstream: which of its values changed the limiter, which did not,
/// and why. A value that the limiter already had is in neither list.
///
/// The lists have a word or a sentence in each line, with a line feed between the lines. With
/// several limits the label of the limit follows the word, as in `remaining[rpm]`.
#[repr(C)]
pub struct Learned {
    /// The settlement of the permit; PG_SETTLEMENT_NONE when the report has no actual cost of a
    /// permit.
    pub settlement: Settlement,
    /// The actual cost of the call, as the response reports it; -1 when it does not.
    pub cost: i64,
    /// The pause that the response asks for; -1 when it asks for none.
    pub pause_us: i64,
    /// The scope of a refusal: "user", "shared", or "global", which applies to all limiters of this
    /// API; empty when the response does not report it. Only Discord does.
    pub scope: [c_char; 16],
    /// The upstream's name of the budget that counted the call; empty when the response does not
    /// report it. Only Discord does.
    pub bucket: [c_char; 136],
    /// The values that changed: "limit", "interval", "remaining", "reset" and "pause".
    pub learned: [c_char; 512],
    /// The values that changed nothing, with the reason: "remaining: calls are open".
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

/// Runs a report of the upstream; `learned` may be absent.
fn run_report(
    learned: Option<&mut MaybeUninit<Learned>>,
    error: Option<&mut MaybeUninit<Error>>,
    operation: impl FnOnce() -> Result<Answer>,
) -> Code {
    let mut discarded = MaybeUninit::uninit();
    guard_into(
        "learned",
        Some(learned.unwrap_or(&mut discarded)),
        || Learned::NONE,
        error,
        || match operation()? {
            Answer::Report(learned) => Ok((*learned).into()),
            other => Err(unexpected(&other)),
        },
    )
}

/// Applies a report of the upstream on the budget behind one limit, in all processes.
///
/// permit is that of the call to which the upstream replied, or NULL; the time of its grant
/// distinguishes older reports from newer ones, and an older report changes nothing. label is that
/// of the limit, NULL for the only limit of the policy. Each number may be PG_NOT_GIVEN. remaining
/// is the number of units left upstream; the units that are still to be corrected here are
/// subtracted from it. amount and interval_us are the numbers of the limit upstream, as in pg_limit; instead
/// of the interval, restore_rate is the number of units that the upstream refills per second, 0
/// when not given. The interval of a bucket ends after reset_in_us, or at reset_at_us since 1970.
/// learned receives the result and may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_report_budget(
    limiter: *const LimiterHandle,
    permit: *const c_char,
    label: *const c_char,
    remaining: i64,
    amount: i64,
    interval_us: i64,
    restore_rate: f64,
    reset_in_us: i64,
    reset_at_us: i64,
    learned: Option<&mut MaybeUninit<Learned>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_report(learned, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let permit = unsafe { text::read_some("permit", permit) }?;
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let label = unsafe { text::read_some("label", label) }?;
        let request = AdminRequest::ReportBudget {
            label: label.map(str::to_owned),
            remaining: optional("remaining", remaining)?,
            numbers: numbers(amount, interval_us, restore_rate)?,
            reset: Deadline::either(
                ("reset_in", micros("reset_in", reset_in_us)?),
                ("reset_at", micros("reset_at", reset_at_us)?),
            )?,
            permit: permit.map(str::to_owned),
        };
        run_request(limiter, &request)
    })
}

/// Applies the response of an upstream API to the limiter, in all processes: settles the permit of
/// the call by its actual cost, corrects the remaining units, learns other limits, and pauses after
/// a refusal.
///
/// permit is NULL when the call had none. provider is the name of a provider, such as "shopify", or
/// NULL for "auto". headers holds header_words texts: a name, its value, the next name and so on; a
/// header with the value NULL is absent. body has body_length bytes and may be NULL. Content that
/// cannot be parsed is ignored. status is PG_NOT_GIVEN when it is not known; then a response is a
/// refusal only if the provider's documentation ties its content to one. A pause lasts at most
/// max_pause_us, PG_NOT_GIVEN for one hour; a refusal that does not say for how long pauses for
/// default_pause_us, PG_NOT_GIVEN for no pause. A limit is raised to at most max_learned units,
/// PG_NOT_GIVEN for ten times the policy's own limit. learned receives the result and may be NULL.
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
    default_pause_us: i64,
    max_learned: i64,
    learned: Option<&mut MaybeUninit<Learned>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    run_report(learned, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let permit = unsafe { text::read_some("permit", permit) }?;
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let provider = unsafe { text::read_some("provider", provider) }?;
        let status = optional("status", status.into())?;
        // SAFETY: the caller passes NULL or an array of `header_words` pointers, each NULL or a
        // text that ends with a zero byte.
        let headers = unsafe { pairs(headers, header_words) }?;
        // SAFETY: the caller passes NULL or as many bytes as `body_length` states.
        let body = String::from_utf8_lossy(unsafe { text::bytes("body", body, body_length) }?);
        let options = LearnOptions {
            provider,
            max_pause: micros("max_pause", max_pause_us)?,
            default_pause: micros("default_pause", default_pause_us)?,
            max_learned: optional("max_learned", max_learned)?,
            permit: permit.map(str::to_owned),
        };
        run_request(limiter, &AdminRequest::learn(status, &headers, &body, options)?)
    })
}

/// Returns the headers that are valid texts; other headers of an upstream are no fault of the
/// caller.
unsafe fn pairs<'a>(headers: *const *const c_char, words: usize) -> Result<Vec<(&'a str, &'a str)>> {
    let invalid = |message: String| Err(CoreError::invalid("headers", message));
    let words = match words {
        0 => return Ok(Vec::new()),
        _ if headers.is_null() => return invalid("is NULL".to_owned()),
        _ if words % 2 == 1 => return invalid(format!("must be names and values: header_words={words}")),
        _ if words > MAX_WORDS => return invalid(format!("are more than {MAX_WORDS}: header_words={words}")),
        // SAFETY: not NULL, so the caller's array of `words` pointers.
        _ => unsafe { slice::from_raw_parts(headers, words) },
    };
    // SAFETY: not NULL, so a text of the caller that ends with a zero byte.
    let text = |word: *const c_char| (!word.is_null()).then(|| unsafe { CStr::from_ptr(word) }.to_str().ok()).flatten();
    Ok(words.chunks_exact(2).filter_map(|pair| Some((text(pair[0])?, text(pair[1])?))).collect())
}

/// Estimates the cost of a GraphQL query in points, before it is sent.
///
/// variables is a JSON object as text, NULL for none. operation names one of several operations,
/// NULL when there is one. rules is "shopify" or "github", NULL for "shopify".
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

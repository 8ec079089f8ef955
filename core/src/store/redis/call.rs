//! `Call`: one operation, as bytes to send and replies to decode. No I/O.

use std::sync::Arc;
use std::{fmt, mem};

use super::command::Command;
use super::config::Address;
use super::counted::Counted;
#[cfg(feature = "redis-rs")]
use super::guard::{Stopped, guarded};
#[cfg(all(feature = "redis-rs", feature = "aio"))]
use super::if_version::if_version;
use super::inspection::inspection;
use super::key_list::{PartialKeys, Scanned};
use super::keys::{FixedArguments, Keys, encode_deadline, encode_limit};
use super::limiter_list::{Found, PartialPage, foreign, page, scan};
#[cfg(all(feature = "redis-rs", feature = "aio"))]
use super::log::LogReply;
use super::most_refused::{MostRefused, Read};
use super::plain::PlainCall;
use super::plain_release::PlainRelease;
use super::recording::RecordingReply;
use super::reply::{
    decision, extension, garbled, parse_u64s, ready_calls, reply_error, report_outcome, runtime_state, settlement,
};
use super::route::redirection;
use super::statistics_of_keys::{Added, StatisticsOfKeys};
use super::tally::{Report, Tallies};
use super::together::{Together, renewal};
use super::wire::{Value, command, header, word, word_of_number};
use crate::base::charge::Charge;
use crate::base::clock;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::engine::budget::PendingReport;
use crate::engine::script::Script;
use crate::engine::transaction::Entry;
use crate::model::budget::{BudgetUpdate, UpstreamReport};
use crate::model::decision::{Decision, Status};
use crate::model::extension::Extension;
use crate::model::inspection::Page;
use crate::model::operation::Answer;
use crate::model::overrides::{AdminCommand, LimitOverride};
use crate::model::permit::{Permit, Settlement, new_id};
use crate::model::policy::{Policy, exceeds_capacity, tag};
use crate::model::request::QueuePosition;
use crate::model::share::Order;
use crate::model::statistics::Statistics;
use crate::model::turns::TurnsHost;
use crate::store::refused_keys::RefusedKeys;

/// The status of a call without an id that must be repeated with one.
pub(super) const NEEDS_ID: i64 = 4;

/// The status of a request that exceeds the capacity of a limit.
pub(super) const EXCEEDS_CAPACITY: i64 = 5;

/// The status of a renewal of a lease that has ended.
pub(super) const LEASE_ENDED: u64 = 5;

/// The status of a renewal that restarted the duration of the lease.
pub(super) const LEASE_RENEWED: u64 = 9;

/// The units of a call that takes none.
const NOTHING: &str = "0";

/// Removes a key from those that were refused in two hours.
const FORGET: &[u8] = b"return redis.call('ZREM', KEYS[1], ARGV[1]) + redis.call('ZREM', KEYS[2], ARGV[1])";

/// The maximum number of resends of one call after redirections or while its slot is being moved.
const MAX_STEPS: u8 = 8;

/// Pause before a call is repeated while its slot is being moved.
const PAUSE: Micros = Micros(20_000);

/// An operation encoded for Redis.
pub struct Call {
    slot: u16,
    pub(super) script: &'static Script,
    /// The command with the script's digest, which is replaced by the script on `NOSCRIPT`.
    pub(super) command: Command,
    /// The same command without keys that may not exist, for a node whose slot is being moved to another.
    pub(super) with_leases: Option<Box<Command>>,
    pub(super) expects: Expects,
    steps: u8,
    /// The target of an `ASK` redirection, for one attempt.
    asking: Option<Address>,
    /// The number of connections that could not be opened for this call.
    failures: usize,
    /// Counts that this call takes along: calls that are sent before it, whose answers nobody needs.
    ahead: Vec<Call>,
    /// Whether a call of the same slot that was before this one was sent again, behind it.
    pub(super) is_overtaking: bool,
}

/// Whether the units of a call are an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Estimate {
    No,
    Whole {
        /// Whether the decision has each limit.
        describes: bool,
    },
    Lowered {
        describes: bool,
    },
}

impl Estimate {
    fn of(is_estimate: bool, describes: bool) -> Self {
        if is_estimate { Self::Whole { describes } } else { Self::No }
    }
}

pub(super) enum Expects {
    /// A plain call; when it was not, the whole script decides.
    Plain(PlainCall),
    /// The release of a lease; when the state was not plain, the whole script decides.
    PlainRelease(Box<PlainRelease>),
    Decision {
        policy: Arc<Policy>,
        /// The id of a call whose grant returns a permit.
        permit: Option<String>,
        /// What a call without an id needs in case it must be repeated with one.
        retry_with_id: Option<Repeat>,
        /// Boxed, because a call is moved often.
        charge: Box<Charge>,
        /// Whether the charge is an estimate, which is lowered when it exceeds a limit's capacity, or was.
        estimate: Estimate,
        /// The keys of a call that takes a lease, which keep whether there is room for another, and of one for a key, which count
        /// its refusals.
        keys: Option<Arc<Keys>>,
        /// Whether the call is the run of a job, which does not take the lease of another run.
        is_run: bool,
    },
    Settlement,
    /// The end of a call; the keys and the time of a wait for a key whose time was up, which is a refusal.
    Cancellation(Option<(Arc<Keys>, Micros)>),
    Extension {
        policy: Arc<Policy>,
        permit: String,
        units: Box<Charge>,
    },
    Together(Box<Together>),
    /// A call to several limiters or to none, with a guard around it.
    #[cfg(feature = "redis-rs")]
    Guarded(Option<Box<Together>>, Stopped),
    /// A change on the condition of a version.
    #[cfg(all(feature = "redis-rs", feature = "aio"))]
    IfVersion(Stopped),
    /// A command on a shared log.
    #[cfg(all(feature = "redis-rs", feature = "aio"))]
    Log(LogReply),
    Learned(Box<PendingReport>),
    RuntimeState,
    Inspection(Arc<Policy>),
    Recording(RecordingReply),
    Renewal,
    Ready,
    Report(Box<Report>),
    Statistics,
    History,
    StatisticsOfKeys(Box<StatisticsOfKeys>),
    MostRefused(Box<MostRefused>),
    Reset,
    /// The reset of a key, whose refusals this call removes then.
    ResetOfKey(Option<Box<Call>>),
    /// A page of the list of this tag; the names begin with this.
    List(u16, Box<str>),
    Page(Box<PartialPage>),
    /// A page of the keys of a keyed limiter.
    Keys(Box<PartialKeys>),
}

/// What a call without an id needs to be repeated with one.
pub(super) struct Repeat {
    keys: Arc<Keys>,
    at: Option<Micros>,
    describes: bool,
}

/// The result of a call on one connection. [`Redis::next`](super::Redis::next) returns what follows from it.
#[derive(Debug)]
pub enum CallOutcome {
    /// The call is complete.
    Answered(Result<Answer>),
    /// The slot of the call has moved to this node.
    Moved(Call, Address),
    /// The slot of the call is being moved: the next attempt goes to the target, later calls do not.
    Asked(Call),
    /// The slot of the call is being moved: the call can be repeated after this pause.
    RetryAfter(Call, Micros),
    /// The call is complete, and its answer needs this further one.
    Further(Call),
}

/// The next step after a reply.
pub(crate) enum Step {
    /// Send the call again to the same node.
    Again(Call),
    /// The connection has finished with the call.
    Done(CallOutcome),
}

impl Call {
    /// Creates a call without an id, whose reply describes each limit if it says so. `listed` holds the time to live and
    /// the entry for the list of limiters when the entry is due.
    pub(crate) fn acquire(
        policy: &Arc<Policy>,
        keys: &Arc<Keys>,
        (charge, describes): (Charge, bool),
        at: Option<Micros>,
        listed: Option<(Micros, String)>,
    ) -> Self {
        let bytes = without_id(keys, b"acquire", &described(&charge, describes), at, listed);
        let (policy, retry_with_id) = (policy.clone(), Some(Repeat { keys: keys.clone(), at, describes }));
        let counting = refusals(keys);
        Self::new(
            keys,
            bytes,
            Expects::Decision {
                policy,
                permit: None,
                retry_with_id,
                charge: charge.into(),
                estimate: Estimate::No,
                keys: counting,
                is_run: false,
            },
        )
    }

    /// Creates a call with an id.
    pub(crate) fn enter(
        policy: &Arc<Policy>,
        keys: &Arc<Keys>,
        entry: &Entry<'_>,
        at: Option<Micros>,
        listed: Option<(Micros, String)>,
    ) -> Self {
        let arguments = keys.with_id(listed.is_some());
        let words = entry_words(entry, policy.aging(), listed);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let bytes = invocation(arguments, b"acquire", &described(&entry.charge, entry.describes), at, &words);
        let keeps = entry.permit.is_some() || policy.concurrency().is_some() && entry.charge.most() > 0;
        let permit = keeps.then(|| entry.id.to_owned());
        let estimate = Estimate::of(entry.permit.is_some(), entry.describes);
        let (policy, charge) = (policy.clone(), entry.charge.into());
        let counting = (keys.grants_leases() || keys.counts_refused_keys()).then(|| keys.clone());
        let is_run = entry.is_run();
        Self::new(
            keys,
            bytes,
            Expects::Decision { policy, permit, retry_with_id: None, charge, estimate, keys: counting, is_run },
        )
    }

    pub(crate) fn peek(
        policy: &Arc<Policy>,
        keys: &Keys,
        (charge, describes): (Charge, bool),
        estimate: bool,
        at: Option<Micros>,
    ) -> Self {
        let bytes = invocation(keys.without_id(false), b"peek", &described(&charge, describes), at, &[]);
        let policy = policy.clone();
        Self::new(
            keys,
            bytes,
            Expects::Decision {
                policy,
                permit: None,
                retry_with_id: None,
                charge: charge.into(),
                estimate: Estimate::of(estimate, describes),
                keys: None,
                is_run: false,
            },
        )
    }

    pub(crate) fn debit(
        policy: &Arc<Policy>,
        keys: &Keys,
        charge: Charge,
        at: Option<Micros>,
        listed: Option<(Micros, String)>,
    ) -> Self {
        let bytes = without_id(keys, b"debit", &charge.to_string(), at, listed);
        let expects = Expects::Decision {
            policy: policy.clone(),
            permit: None,
            retry_with_id: None,
            charge: charge.into(),
            estimate: Estimate::No,
            keys: None,
            is_run: false,
        };
        Self::new(keys, bytes, expects)
    }

    /// Creates a correction. `charged` and `actual` are in the order of the policy.
    pub(crate) fn correct(
        keys: &Keys,
        policy: &Policy,
        permit: &Permit<'_>,
        charged: Charge,
        actual: Charge,
        at: Option<Micros>,
    ) -> Self {
        let words = [permit.to_string(), permit.granted_at.to_string(), charged.to_string(), policy.refunds()];
        let words = words.each_ref().map(String::as_str);
        Self::new(
            keys,
            invocation(keys.with_permit(), b"correct", &actual.to_string(), at, &words),
            Expects::Settlement,
        )
    }

    /// Creates an extension. `charged` and `units` are in the order of the policy.
    pub(crate) fn extend(
        keys: &Keys,
        policy: &Arc<Policy>,
        permit: &Permit<'_>,
        charged: Charge,
        units: Charge,
        at: Option<Micros>,
    ) -> Self {
        let id = permit.to_string();
        let words = [id.clone(), permit.granted_at.to_string(), charged.to_string()];
        let command =
            invocation(keys.with_permit(), b"extend", &units.to_string(), at, &words.each_ref().map(String::as_str));
        Self::new(keys, command, Expects::Extension { policy: policy.clone(), permit: id, units: units.into() })
    }

    pub(crate) fn release(keys: &Keys, permit: &Permit<'_>, at: Option<Micros>) -> Self {
        let granted_at = permit.granted_at.to_string();
        let words = [permit.id, &granted_at];
        let with_leases = Some(invocation(keys.with_leases(), b"release", NOTHING, at, &words).into());
        Self { with_leases, ..Self::verb(keys, b"release", at, &words, Expects::Settlement) }
    }

    pub(crate) fn renew(keys: &Keys, permit: &Permit<'_>, at: Option<Micros>) -> Self {
        let granted_at = permit.granted_at.to_string();
        let words = [permit.id, &granted_at];
        Self::new(keys, invocation(keys.with_leases(), b"renew", NOTHING, at, &words), Expects::Renewal)
    }

    pub(crate) fn cancel(keys: &Arc<Keys>, id: &str, gave_up: bool, at: Option<Micros>) -> Self {
        let words = [id, if gave_up { "1" } else { "" }];
        let refused = refusals(keys).filter(|_| gave_up);
        let refused = refused.map(|keys| (keys, at.unwrap_or_else(|| Micros(clock::now()))));
        Self::verb(keys, b"cancel", at, &words, Expects::Cancellation(refused))
    }

    pub(crate) fn ready(keys: &Keys, count: u64, host: Option<TurnsHost<'_>>, at: Option<Micros>) -> Self {
        let count = count.to_string();
        let words = host.map_or(["", &count, "", ""], |host| ["", &count, host.channel, host.id]);
        Self::verb(keys, b"ready", at, &words, Expects::Ready)
    }

    pub(crate) fn statistics(keys: &Keys, at: Option<Micros>) -> Self {
        Self::new(keys, invocation(&keys.all(), b"statistics", NOTHING, at, &[""]), Expects::Statistics)
    }

    pub(crate) fn history(keys: &Keys, at: Option<Micros>) -> Self {
        Self { expects: Expects::History, ..Self::statistics(keys, at) }
    }

    /// Creates the next call for the statistics of all keys of a keyed limiter.
    pub(crate) fn statistics_of_keys(statistics: StatisticsOfKeys) -> Self {
        let (slot, bytes) = statistics.next();
        let reports = statistics.tallies().all(Some(slot));
        let call = Self::with_slot(slot, Command::new(bytes), Expects::StatisticsOfKeys(Box::new(statistics)));
        call.with_reports(reports)
    }

    pub(crate) fn apply_report(
        keys: &Keys,
        policy: &Policy,
        permit: Option<&Permit<'_>>,
        report: &UpstreamReport<'_>,
        at: Option<Micros>,
    ) -> Result<Self> {
        let actual = report.actual.map(|actual| actual.charge("actual", policy)).transpose()?;
        // The permit of another policy has a key that the script does not find.
        let charged = permit.and_then(|permit| policy.in_policy_order(&permit.charged)).unwrap_or_default();
        let granted_at = permit.map_or(0, |permit| permit.granted_at);
        let mut words = vec![
            permit.map(ToString::to_string).unwrap_or_default(),
            granted_at.to_string(),
            charged.to_string(),
            policy.refunds(),
            if actual.is_some() { "1" } else { "" }.to_owned(),
            encode_deadline(report.pause),
        ];
        for limit in policy.limits() {
            let budget = report.budget(limit).cloned().unwrap_or_else(|| BudgetUpdate::new(limit.label().clone()));
            words.push(budget.remaining.map(|remaining| remaining.to_string()).unwrap_or_default());
            words.push(budget.limit.as_ref().map(encode_limit).unwrap_or_default());
            words.push(encode_deadline(budget.reset));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let expects = Expects::Learned(Box::new(PendingReport::new(report, policy)));
        let command = invocation(keys.with_permit(), b"learn", &actual.unwrap_or_default().to_string(), at, &words);
        Ok(Self::new(keys, command, expects))
    }

    /// Creates an administrative call. `listed` is the entry for the list of limiters.
    pub(crate) fn admin(keys: &Keys, command: &AdminCommand<'_>, at: Option<Micros>, listed: Option<&str>) -> Self {
        let words = match command {
            AdminCommand::Get => Default::default(),
            AdminCommand::Pause(until) => [encode_deadline(Some(*until)), String::new(), String::new()],
            AdminCommand::Block(until) => [format!("!{}", encode_deadline(Some(*until))), String::new(), String::new()],
            AdminCommand::Resume => ["0".to_owned(), String::new(), String::new()],
            AdminCommand::Override { changes, expires } => {
                let changes = changes.iter().map(|change| match change {
                    // An override replaces one of another kind.
                    LimitOverride::Set(limit) => format!("-{},{}={}", limit.label(), tag(limit), encode_limit(limit)),
                    LimitOverride::Remove(label) => format!("-{label}"),
                    LimitOverride::RemoveAll => "-".to_owned(),
                    LimitOverride::Mode(mode) => format!("M={}", mode.letter()),
                    LimitOverride::RemoveMode => "-M".to_owned(),
                });
                [String::new(), encode_deadline(*expires), changes.collect::<Vec<_>>().join(",")]
            }
        };
        let words = ["", &words[0], &words[1], &words[2]].into_iter().chain(listed).collect::<Vec<_>>();
        let arguments = keys.with_id(listed.is_some());
        Self::new(keys, invocation(arguments, b"control", NOTHING, at, &words), Expects::RuntimeState)
    }

    pub(crate) fn inspect(keys: &Keys, policy: Arc<Policy>, page: Page, at: Option<Micros>) -> Self {
        let words = ["", &page.offset.to_string(), &page.count.to_string()];
        let command = invocation(&keys.all(), b"inspect", NOTHING, at, &words);
        Self::new(keys, command, Expects::Inspection(policy))
    }

    pub(crate) fn reset(keys: &Keys, now: Micros) -> Self {
        let forget = keys.key().filter(|_| keys.counts_refused_keys()).map(|key| {
            let hour = RefusedKeys::hour_at(now.0);
            let [this, last] = [hour, hour.saturating_sub(1)].map(|hour| keys.refused_keys(hour));
            let mut bytes = Vec::with_capacity(256);
            command(&mut bytes, &[b"EVAL", FORGET, b"2", this.as_bytes(), last.as_bytes(), key.as_bytes()]);
            Self::with_slot(keys.slot(), Command::new(bytes), Expects::Reset)
        });
        let expects = forget.map_or(Expects::Reset, |forget| Expects::ResetOfKey(Some(forget.into())));
        Self::new(keys, invocation(&keys.reset(), b"reset", NOTHING, None, &[]), expects)
    }

    /// Creates a call that reads one page of the limiter list of a tag.
    pub(crate) fn list(tag: u16, cursor: u64, prefix: &str) -> Self {
        let (slot, bytes) = scan(tag, cursor, prefix);
        Self::with_slot(slot, Command::new(bytes), Expects::List(tag, prefix.into()))
    }

    /// Creates the next call for a page of the whole list.
    pub(crate) fn limiter_page(page: PartialPage) -> Self {
        let (slot, bytes) = page.next();
        Self::with_slot(slot, Command::new(bytes), Expects::Page(Box::new(page)))
    }

    pub(super) fn verb(keys: &Keys, verb: &[u8], at: Option<Micros>, words: &[&str], expects: Expects) -> Self {
        Self::new(keys, invocation(keys.with_id(false), verb, NOTHING, at, words), expects)
    }

    fn new(keys: &Keys, command: Command, expects: Expects) -> Self {
        Self::with_slot(keys.slot(), command, expects)
    }

    /// Creates a call that a script of plain calls decides.
    pub(super) fn of_plain(script: &'static Script, command: Command, plain: PlainCall) -> Self {
        let slot = plain.keys.slot();
        Self { script, ..Self::with_slot(slot, command, Expects::Plain(plain)) }
    }

    /// Creates a release that a script of plain calls decides.
    pub(super) fn of_plain_release(
        script: &'static Script,
        slot: u16,
        command: Command,
        release: PlainRelease,
    ) -> Self {
        Self { script, ..Self::with_slot(slot, command, Expects::PlainRelease(Box::new(release))) }
    }

    pub(super) fn with_slot(slot: u16, command: Command, expects: Expects) -> Self {
        let script = Script::of_one();
        let (with_leases, asking, ahead) = (None, None, Vec::new());
        Self { slot, script, command, with_leases, expects, steps: 0, asking, failures: 0, ahead, is_overtaking: false }
    }

    /// Creates a call that sends these counts; `None` without any.
    pub(crate) fn reports(reports: Vec<Report>) -> Option<Self> {
        let mut calls: Vec<Self> = reports.into_iter().map(Self::report).collect();
        let last = calls.pop()?;
        Some(Self { ahead: calls, ..last })
    }

    fn report(report: Report) -> Self {
        Self::with_slot(report.slot(), Command::new(report.command()), Expects::Report(report.into()))
    }

    /// Returns the call with counts that it takes along.
    pub(crate) fn with_reports(mut self, reports: Vec<Report>) -> Self {
        self.ahead.extend(reports.into_iter().map(Self::report));
        self
    }

    /// Adds the counts that are due by now.
    #[inline]
    pub(crate) fn take_along(&mut self, tallies: &Tallies) {
        let due = tallies.due(self.slot);
        self.ahead.extend(due.into_iter().map(Self::report));
    }

    /// Takes the calls that must be sent before this one.
    pub(super) fn take_ahead(&mut self) -> Vec<Self> {
        mem::take(&mut self.ahead)
    }

    /// Returns the calls that must be sent before this one.
    #[cfg(test)]
    pub(super) fn ahead(&self) -> &[Self] {
        &self.ahead
    }

    /// Returns whether this is a cancellation that found nothing because it has overtaken the call that it cancels.
    fn came_too_early(&self, items: &[Value]) -> bool {
        let settled = match &self.expects {
            Expects::Cancellation(_) if self.is_overtaking => settlement(items).map(Answer::Settlement),
            Expects::Together(together) if self.is_overtaking && matches!(**together, Together::Cancellation) => {
                together.decode(items)
            }
            _ => return false,
        };
        matches!(settled, Ok(Answer::Settlement(Settlement::Unknown)))
    }

    /// Notes that the server may have received the counts of this call.
    pub(super) fn may_have_arrived(&mut self) {
        if let Expects::Report(report) = &mut self.expects {
            report.is_sent();
        }
    }

    /// Notes that the server has not received the counts of this call.
    #[cfg(feature = "redis-rs")]
    pub(super) fn did_not_arrive(&mut self) {
        if let Expects::Report(report) = &mut self.expects {
            report.was_refused();
        }
    }

    /// Returns the encoded command.
    pub fn bytes(&self) -> &[u8] {
        &self.command.bytes
    }

    /// Returns the cluster slot of the call's keys.
    pub const fn slot(&self) -> u16 {
        self.slot
    }

    /// Returns the node of this attempt if it must be preceded by `ASKING`.
    pub(crate) const fn asking(&self) -> Option<&Address> {
        self.asking.as_ref()
    }

    /// Counts a connection that could not be opened for this call. The next attempt goes to the owner of the slot.
    pub(crate) fn count_failure(&mut self) {
        self.failures += 1;
        self.asking = None;
    }

    /// Returns the number of connections that could not be opened for this call.
    pub(crate) const fn failures(&self) -> usize {
        self.failures
    }

    /// Decodes the reply of `node`. Only calls that were certainly not executed are sent again.
    pub(crate) fn answer(mut self, reply: Value, node: &Address) -> Step {
        if let Expects::Report(report) = &mut self.expects {
            report.answered(&reply);
        }
        if let (Expects::ResetOfKey(forget), Value::Integer(_)) = (&mut self.expects, &reply)
            && let Some(forget) = forget.take()
        {
            return Step::Done(CallOutcome::Further(*forget));
        }
        if let Value::Array(items) = &reply {
            if self.lower_estimate(items) {
                return Step::Again(self);
            }
            if self.came_too_early(items) {
                // What gave up has been counted.
                self.command.end_with_nothing();
                return Step::Again(self);
            }
        }
        let error = match reply {
            Value::Error(error) => error,
            reply => match (&self.expects, &reply) {
                (Expects::Plain(plain), Value::Integer(0)) => {
                    plain.keys.was_not_plain();
                    return Step::Again(Self { asking: self.asking, ..plain.whole() });
                }
                (Expects::Plain(plain), Value::Array(_) | Value::Text(_)) => {
                    return match plain.answer(&reply).transpose() {
                        Some(answer) => Step::Done(CallOutcome::Answered(answer.map(Answer::Decision))),
                        None => Step::Again(Self { asking: self.asking, ..plain.whole() }),
                    };
                }
                (Expects::PlainRelease(release), reply) => {
                    return match release.answer(reply) {
                        Some(answer) => Step::Done(CallOutcome::Answered(answer.map(Answer::Settlement))),
                        None => Step::Again(Self { asking: self.asking, ..release.whole() }),
                    };
                }
                (Expects::Decision { policy, retry_with_id: Some(repeat), charge, .. }, Value::Array(items))
                    if items.first() == Some(&Value::Integer(NEEDS_ID)) =>
                {
                    return match new_id() {
                        Ok(id) => {
                            let Repeat { keys, at, describes } = repeat;
                            let entry = Entry::without_queue(&id, **charge, None).describing(*describes);
                            Step::Again(Self { asking: self.asking, ..Self::enter(policy, keys, &entry, *at, None) })
                        }
                        Err(error) => Step::Done(CallOutcome::Answered(Err(error))),
                    };
                }
                (Expects::Together(together), Value::Array(items)) => {
                    return match together.repeated(items) {
                        Some(repeated) => match repeated {
                            Ok(call) => Step::Again(Self { asking: self.asking, ..call }),
                            Err(error) => Step::Done(CallOutcome::Answered(Err(error))),
                        },
                        None => Step::Done(CallOutcome::Answered(together.decode(items))),
                    };
                }
                (
                    Expects::StatisticsOfKeys(_) | Expects::MostRefused(_) | Expects::Page(_) | Expects::Keys(_),
                    Value::Array(items),
                ) => return Step::Done(self.chained(items, node)),
                _ => return Step::Done(CallOutcome::Answered(self.decode(&reply))),
            },
        };
        self.steps += 1;
        let failed = |error: &str| CallOutcome::Answered(Err(reply_error(error)));
        if self.steps > MAX_STEPS {
            return Step::Done(failed(&error));
        }
        match error.split(' ').next().unwrap_or_default() {
            "NOSCRIPT" => {
                self.command.send_script(self.script);
                Step::Again(self)
            }
            // The periods of a quota that the call knows do not have the store's time, which the reply says.
            "PGTIME" if self.command.correct_time(&error) => Step::Again(self),
            "MOVED" => Step::Done(match redirection(&error, node) {
                Some(address) => CallOutcome::Moved(Self { asking: None, ..self }, address),
                None => failed(&error),
            }),
            "ASK" => Step::Done(match redirection(&error, node) {
                Some(address) => CallOutcome::Asked(Self { asking: Some(address), ..self }),
                None => failed(&error),
            }),
            "TRYAGAIN" => {
                if let Expects::PlainRelease(release) = &self.expects {
                    return Step::Again(Self { asking: self.asking, ..release.whole() });
                }
                match self.with_leases.take() {
                    Some(command) => Step::Again(Self { command: *command, ..self }),
                    None => Step::Done(CallOutcome::RetryAfter(Self { asking: None, ..self }, PAUSE)),
                }
            }
            "WRONGTYPE" => Step::Done(match &self.expects {
                Expects::List(tag, _) => CallOutcome::Answered(Err(foreign(*tag))),
                Expects::Page(page) => CallOutcome::Answered(Err(foreign(page.tag()))),
                _ => failed(&error),
            }),
            _ => Step::Done(failed(&error)),
        }
    }

    /// Decodes the reply to one of several calls that lead to an answer.
    fn chained(&self, items: &[Value], node: &Address) -> CallOutcome {
        CallOutcome::Answered(match &self.expects {
            Expects::StatisticsOfKeys(statistics) => match statistics.add(items) {
                Added::Further(statistics) => return CallOutcome::Further(Self::statistics_of_keys(statistics)),
                Added::All(answer) => Ok(answer),
            },
            Expects::MostRefused(read) => match read.add(items) {
                Ok(Read::Further(read)) => return CallOutcome::Further(Self::most_refused(read)),
                Ok(Read::All(keys)) => Ok(Answer::MostRefused(keys)),
                Err(error) => Err(error),
            },
            Expects::Page(found) => match found.add(items) {
                Ok(Found::Further(page)) => return CallOutcome::Further(Self::limiter_page(page)),
                Ok(Found::Enough(page)) => Ok(Answer::Page(page)),
                Err(error) => Err(error),
            },
            Expects::Keys(found) => match found.add(items, node) {
                Ok(Scanned::Further(page)) => return CallOutcome::Further(Self::key_page(page)),
                Ok(Scanned::Enough(page)) => Ok(Answer::Keys(page)),
                Err(error) => Err(error),
            },
            _ => Err(garbled()),
        })
    }

    fn decode(&self, reply: &Value) -> Result<Answer> {
        match (&self.expects, reply) {
            (Expects::Reset | Expects::Report(_), Value::Integer(_)) => Ok(Answer::Reset),
            (Expects::Extension { policy, units, .. }, Value::Array(items))
                if items.len() > 1 && items.first() == Some(&Value::Integer(EXCEEDS_CAPACITY)) =>
            {
                Err(exceeded(items, "units", policy, units))
            }
            (Expects::Extension { policy, permit, .. }, Value::Array(items)) => {
                let extension = match extension(items, policy)? {
                    Ok((reply, charged)) => {
                        let permit = Permit::parse(permit).ok_or_else(garbled)?;
                        Extension::Decided(reply.extension(policy, &permit, charged))
                    }
                    Err(settlement) => Extension::Closed(settlement),
                };
                Ok(Answer::Extension(Box::new(extension)))
            }
            #[cfg(feature = "redis-rs")]
            (Expects::Guarded(together, stopped), Value::Array(items)) => guarded(together.as_deref(), stopped, items),
            #[cfg(all(feature = "redis-rs", feature = "aio"))]
            (Expects::IfVersion(stopped), reply) => if_version(stopped, reply),
            #[cfg(all(feature = "redis-rs", feature = "aio"))]
            (Expects::Log(log), reply) => log.read(reply),
            (Expects::Settlement, Value::Array(items)) => settlement(items).map(Answer::Settlement),
            (Expects::Cancellation(refused), Value::Array(items)) => {
                let settlement = settlement(items)?;
                if let Some((keys, at)) = refused {
                    keys.count_refused_key(*at);
                }
                Ok(Answer::Settlement(settlement))
            }
            (Expects::Learned(report), Value::Array(items)) => {
                let outcome = report_outcome(items, report.limits())?;
                Ok(Answer::Report(Box::new((**report).clone().learned(&outcome))))
            }
            (Expects::Renewal, Value::Array(items)) => renewal(items).map(Answer::Renewal),
            (Expects::Ready, Value::Array(items)) => ready_calls(items).map(Answer::Ready),
            (Expects::Statistics | Expects::History, Value::Array(items)) => {
                let [Value::Integer(leases), Value::Integer(tickets), Value::Array(fields), Value::Integer(now)] =
                    items.as_slice()
                else {
                    return Err(garbled());
                };
                let [leases, tickets, now] = [leases, tickets, now].map(|number| u64::try_from(*number).unwrap_or(0));
                let counted = Counted::read(fields);
                if matches!(self.expects, Expects::History) {
                    return Ok(Answer::History(Box::new(counted.history(now))));
                }
                Ok(Answer::Statistics(Box::new(Statistics { leases, tickets, ..counted.statistics })))
            }
            (Expects::List(_, prefix), Value::Array(items)) => page(items, prefix).map(Answer::List),
            (Expects::RuntimeState, Value::Array(items)) => {
                runtime_state(items).map(|runtime_state| Answer::RuntimeState(Box::new(runtime_state)))
            }
            (Expects::Inspection(policy), Value::Array(items)) => {
                inspection(items, policy).map(|inspection| Answer::Inspection(Box::new(inspection)))
            }
            (Expects::Recording(recording), Value::Array(items)) => recording.read(items),
            (Expects::Decision { policy, charge, estimate, .. }, Value::Array(items))
                if items.first() == Some(&Value::Integer(EXCEEDS_CAPACITY)) =>
            {
                Err(exceeded(items, if *estimate == Estimate::No { "cost" } else { "estimate" }, policy, charge))
            }
            (
                Expects::Decision { policy, charge, permit, keys, retry_with_id, is_run, estimate },
                Value::Array(items),
            ) => {
                let reply = decision(items, policy)?;
                if let Some(keys) = keys {
                    if keys.grants_leases() {
                        keys.note_decision(reply.status, reply.remaining);
                    }
                    // A call of nothing with an id only looks.
                    if reply.status == Status::Refused && (retry_with_id.is_some() || charge.is_call()) {
                        keys.count_refused_key(Micros(reply.at));
                    }
                }
                let permit = permit.as_deref();
                let decision = if *is_run {
                    reply.decision_on_run(policy, charge, permit)
                } else {
                    reply.decision(policy, charge, permit)
                };
                let is_lowered = matches!(estimate, Estimate::Lowered { .. });
                Ok(Answer::Decision(Decision { is_lowered, ..decision }))
            }
            _ => Err(garbled()),
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("slot", &self.slot).finish_non_exhaustive()
    }
}

/// Returns the keys of a call for a key, whose refusals are counted for it.
pub(super) fn refusals(keys: &Arc<Keys>) -> Option<Arc<Keys>> {
    keys.counts_refused_keys().then(|| keys.clone())
}

impl Call {
    /// Lowers an estimate that exceeds the capacity of a limit to it, by the reply that says so. Returns whether the call is to be
    /// sent again.
    fn lower_estimate(&mut self, items: &[Value]) -> bool {
        if let Expects::Together(together) = &mut self.expects {
            return together.lower_estimate(&mut self.command, items);
        }
        let Expects::Decision { policy, charge, estimate, .. } = &mut self.expects else { return false };
        let (Estimate::Whole { describes } | Estimate::Lowered { describes }) = *estimate else { return false };
        let Some(lowered) = lowered(items, policy, charge) else { return false };
        **charge = lowered;
        *estimate = Estimate::Lowered { describes };
        self.command.units.0 = self.command.set_units(self.command.units, &described(charge, describes));
        true
    }
}

/// Returns an estimate that exceeds the capacity of a limit lowered to it, by the reply that says so; `None` for another reply.
pub(super) fn lowered(items: &[Value], policy: &Policy, estimate: &Charge) -> Option<Charge> {
    if items.first() != Some(&Value::Integer(EXCEEDS_CAPACITY)) {
        return None;
    }
    let numbers = parse_u64s(items);
    let index = numbers.get(1).and_then(|index| usize::try_from(*index).ok())?;
    let most = policy.limits().get(index)?.amount().max(*numbers.get(2)?);
    if estimate.of(index) <= most {
        return None;
    }
    let limits = policy.limits().iter().enumerate();
    let each = limits.map(|(i, limit)| match estimate.of(i) {
        units if limit.counts_starts() => units.min(1),
        units if i == index => units.min(most),
        units => units,
    });
    Some(Charge::each(each).simplest())
}

/// Returns the error of a call that exceeds the capacity of a limit, from the reply that says so.
pub(super) fn exceeded(items: &[Value], argument: &'static str, policy: &Policy, charge: &Charge) -> Error {
    let numbers = parse_u64s(items);
    let index = numbers.get(1).and_then(|index| usize::try_from(*index).ok());
    match (index.filter(|index| *index < policy.limits().len()), numbers.get(2)) {
        (Some(index), Some(most)) => {
            exceeds_capacity(argument, charge.of(index), policy.limits()[index].label(), *most)
        }
        _ => garbled(),
    }
}

/// Returns the words of a call with an id, which follow its time.
pub(super) fn entry_words(entry: &Entry<'_>, aging: Option<Micros>, listed: Option<(Micros, String)>) -> Vec<String> {
    let number = |number: u64| number.to_string();
    let (ttl, listed) = listed.map_or_else(Default::default, |(ttl, listed)| (number(ttl.0), listed));
    let permit = entry.permit.map_or_else(String::new, |time| number(time.0));
    let mut words = vec![entry.id.to_owned(), permit, ttl, listed];
    if let Some(waiting) = entry.queue {
        words.extend([number(waiting.max_wait), number(waiting.claim_timeout), waiting.channel.to_owned()]);
        words.push(match waiting.position {
            QueuePosition::End => String::new(),
            QueuePosition::Existing => "-".to_owned(),
            QueuePosition::Number(ticket) => number(ticket),
        });
        let Order { priority, weight, share } = entry.order;
        if waiting.keep > 0 || entry.order != Order::default() || aging.is_some() {
            words.extend([number(waiting.keep), number(priority.into()), number(weight.into()), share.to_owned()]);
            words.extend(aging.map(|aging| number(aging.0)));
        }
    }
    words
}

/// Returns the units of a call as its script takes them, with the mark of one whose reply describes each limit.
pub(super) fn described(charge: &Charge, describes: bool) -> String {
    // One number alone is of all limits, and zero then only looks.
    let comma = if *charge == Charge::each([0]) { "," } else { "" };
    if describes { format!("?{charge}{comma}") } else { format!("{charge}{comma}") }
}

/// Encodes a call without an id, which adds the limiter to the list when its entry is due.
fn without_id(keys: &Keys, verb: &[u8], units: &str, at: Option<Micros>, listed: Option<(Micros, String)>) -> Command {
    match listed {
        None => invocation(keys.without_id(false), verb, units, at, &[]),
        Some(listed) => {
            let words = listed_words(listed);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            invocation(keys.without_id(true), verb, units, at, &words)
        }
    }
}

/// Returns the words of a call without an id, which follow its time when the entry for the list of limiters is due.
pub(super) fn listed_words((ttl, entry): (Micros, String)) -> Vec<String> {
    vec![String::new(), String::new(), ttl.0.to_string(), entry]
}

/// Encodes the arguments in the order that `engine/state.lua` defines. `more` begins with the id.
fn invocation(arguments: &FixedArguments, verb: &[u8], units: &str, at: Option<Micros>, more: &[&str]) -> Command {
    let timed = usize::from(at.is_some() || !more.is_empty());
    let mut bytes = Vec::with_capacity(arguments.bytes.len() + 192);
    // EVALSHA and digest, the fixed arguments, verb and units, then time and `more`.
    header(&mut bytes, 2 + arguments.words + 2 + timed + more.len());
    word(&mut bytes, b"EVALSHA");
    word(&mut bytes, Script::of_one().digest.as_bytes());
    let start = bytes.len();
    bytes.extend_from_slice(&arguments.bytes);
    word(&mut bytes, verb);
    let units_start = bytes.len();
    word(&mut bytes, units.as_bytes());
    let units_end = bytes.len();
    match at {
        Some(at) => word_of_number(&mut bytes, at.0),
        None if more.is_empty() => {}
        None => word(&mut bytes, b""),
    }
    for text in more {
        word(&mut bytes, text.as_bytes());
    }
    let mut command = Command::new(bytes);
    command.units = (command.bytes.len() - units_start, command.bytes.len() - units_end);
    command.note(1, &arguments.quotas, |at| start + at);
    command.set_time(|| at.map_or_else(clock::now, |at| at.0));
    command
}

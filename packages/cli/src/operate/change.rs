//! `pause`, `resume`, `override`, `restore` and `reset`: changes that are in force in all programs at once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use paddlegate::{
    AdminCommand, AdminRequest, Deadline, Label, LimitNumbers, LimitOverride, Limiter, Micros, Mode, Paddlegate,
    RuntimeState,
};
use serde_json::{Value, json};

use super::author::{Author, ByWhom, Made, record};
use super::store::{Store, failure};
use super::target::Target;
use super::{pretty, shown, span, target};
use crate::failure::Failure;
use crate::human::{self, plain};
use crate::hush::hush;
use crate::print;

/// What a change is for besides one limiter or one key.
#[derive(Args, Debug)]
#[group(multiple = false)]
struct Reach {
    /// Change all limiters whose names begin with NAME; those with keys, and those that come later, are not
    #[arg(long, conflicts_with_all = ["key", "group", "limits"])]
    prefix: bool,
    /// Change all keys of the keyed limiter that have a state now; a key that comes later is not
    #[arg(long, conflicts_with = "key")]
    all_keys: bool,
}

/// The arguments of `pause`.
#[derive(Args, Debug)]
pub(crate) struct Pause {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    reach: Reach,
    /// How long; a pause that ends later stays in force
    #[arg(long, value_name = "SPAN", value_parser = span)]
    expires_in: Micros,
    #[command(flatten)]
    by: ByWhom,
    #[command(flatten)]
    store: Store,
}

/// The arguments of `resume`.
#[derive(Args, Debug)]
pub(crate) struct Resume {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    by: ByWhom,
    #[command(flatten)]
    store: Store,
}

/// The arguments of `override`.
#[derive(Args, Debug)]
pub(crate) struct Override {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    reach: Reach,
    /// The label of the limit; a limiter with one limit does not need it
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// The new limit or capacity in units
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// The new interval; the time to drain or refill fully, or the longest time of a lease
    #[arg(long, value_name = "SPAN", value_parser = span)]
    interval: Option<Micros>,
    /// The new mode
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeName>,
    /// When all overrides of the limiter end [default: when they are restored]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    expires_in: Option<Micros>,
    #[command(flatten)]
    by: ByWhom,
    #[command(flatten)]
    store: Store,
}

/// The arguments of `restore`.
#[derive(Args, Debug)]
pub(crate) struct Restore {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    reach: Reach,
    /// The label of the only limit to restore [default: all overrides]
    #[arg(long, value_name = "LABEL", conflicts_with = "mode")]
    label: Option<String>,
    /// Restore the mode alone
    #[arg(long)]
    mode: bool,
    #[command(flatten)]
    by: ByWhom,
    #[command(flatten)]
    store: Store,
}

/// The arguments of `reset`.
#[derive(Args, Debug)]
pub(crate) struct Reset {
    #[command(flatten)]
    target: Target,
    /// Reset all keys of the keyed limiter that have a state now; what was counted of them stays
    #[arg(long, conflicts_with = "key")]
    all_keys: bool,
    /// Yes, forget it all: leases and tickets are lost, and calls pass as if none had been before
    #[arg(long, required = true)]
    yes: bool,
    #[command(flatten)]
    by: ByWhom,
    #[command(flatten)]
    store: Store,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    /// Refuse what is over the limit
    Enforce,
    /// Decide and count, but refuse nobody
    Shadow,
}

/// What a change is for.
#[derive(Clone, Copy, Debug)]
enum Of {
    One,
    Prefix,
    AllKeys,
}

impl Reach {
    const fn of(&self) -> Of {
        match (self.prefix, self.all_keys) {
            (true, _) => Of::Prefix,
            (false, true) => Of::AllKeys,
            (false, false) => Of::One,
        }
    }
}

/// Refuses every call until the span is over.
pub(crate) fn pause(order: &Pause) -> Result<(), Failure> {
    let until = Deadline::After(order.expires_in);
    let entries = [Made::Admin(AdminRequest::Pause(until))];
    change((&order.target, order.reach.of()), &order.by, &order.store, &entries, |limiter| {
        limiter.admin(AdminCommand::Pause(until)).map_err(|error| failure(&error))
    })
}

/// Ends the pause and the block.
pub(crate) fn resume(order: &Resume) -> Result<(), Failure> {
    let entries = [Made::Admin(AdminRequest::Resume)];
    change((&order.target, order.reach.of()), &order.by, &order.store, &entries, |limiter| {
        limiter.admin(AdminCommand::Resume).map_err(|error| failure(&error))
    })
}

/// Overrides a limit, the mode, or both in one step, which the log has as two changes.
pub(crate) fn set_override(order: &Override) -> Result<(), Failure> {
    let Override { label, limit, interval, mode, expires_in, .. } = order;
    let numbers = limit.is_some() || interval.is_some();
    if !numbers && mode.is_none() {
        return Err(Failure::Input("--limit: give another limit, another interval or a mode".to_owned()));
    }
    if !numbers && label.is_some() {
        return Err(Failure::Input("--label: is that of a limit; give --limit or --interval too".to_owned()));
    }
    let expires = expires_in.map(Deadline::After);
    let mode = mode.map(|mode| match mode {
        ModeName::Enforce => Mode::Enforce,
        ModeName::Shadow => Mode::Shadow,
    });
    let mut entries = Vec::new();
    if numbers {
        let numbers = LimitNumbers { amount: *limit, interval: *interval, rate: None };
        entries.push(Made::Admin(AdminRequest::Override { label: label.clone(), numbers, expires }));
    }
    entries.extend(mode.map(|mode| Made::Admin(AdminRequest::OverrideMode { mode, expires })));
    change((&order.target, order.reach.of()), &order.by, &order.store, &entries, |limiter| {
        let mut changes = Vec::new();
        if numbers {
            let limits = limiter.override_changes(label.as_deref(), *limit, *interval);
            changes.extend(limits.map_err(|error| failure(&error))?);
        }
        changes.extend(mode.map(LimitOverride::Mode));
        limiter.admin(AdminCommand::Override { changes: &changes, expires }).map_err(|error| failure(&error))
    })
}

/// Ends the overrides of a label, of the mode, or all.
pub(crate) fn restore(order: &Restore) -> Result<(), Failure> {
    let label = order.label.as_deref().map(Label::new).transpose().map_err(|error| failure(&error))?;
    let (removed, request) = match label {
        Some(label) => (LimitOverride::Remove(label), AdminRequest::Restore(order.label.clone())),
        None if order.mode => (LimitOverride::RemoveMode, AdminRequest::RestoreMode),
        None => (LimitOverride::RemoveAll, AdminRequest::Restore(None)),
    };
    change((&order.target, order.reach.of()), &order.by, &order.store, &[Made::Admin(request)], |limiter| {
        if let LimitOverride::Remove(label) = &removed {
            check_overridden(label, &limiter.admin(AdminCommand::Get).map_err(|error| failure(&error))?)?;
        }
        let command = AdminCommand::Override { changes: std::slice::from_ref(&removed), expires: None };
        limiter.admin(command).map_err(|error| failure(&error))
    })
}

/// Refuses a label that no override has, as a mistyped one: the override that was meant would stay. The label may be one that the
/// policy does not have.
fn check_overridden(label: &Label, state: &RuntimeState) -> Result<(), Failure> {
    if state.overrides.iter().any(|limit| limit.label() == label) {
        return Ok(());
    }
    let labels: Vec<String> = state.overrides.iter().map(|limit| limit.label().to_string()).collect();
    let message = if labels.is_empty() {
        "no override of a limit is in force".to_owned()
    } else {
        format!("no override of this limit is in force, only of {}", labels.join(", "))
    };
    Err(Failure::Input(format!("--label: {message}: label={:?}", label.to_string())))
}

/// Forgets all that was taken.
pub(crate) fn reset(order: &Reset) -> Result<(), Failure> {
    change(
        (&order.target, if order.all_keys { Of::AllKeys } else { Of::One }),
        &order.by,
        &order.store,
        &[Made::Reset],
        |limiter| {
            let state = limiter.admin(AdminCommand::Get).map_err(|error| failure(&error))?;
            limiter.reset().map_err(|error| failure(&error))?;
            Ok(RuntimeState { in_use: state.in_use, ..RuntimeState::default() })
        },
    )
}

/// Finds the limiter, those of a prefix or the keys, makes a change, records it and prints what is in force then.
fn change(
    (target, of): (&Target, Of),
    by: &ByWhom,
    store: &Store,
    entries: &[Made],
    make: impl Fn(&Limiter) -> Result<RuntimeState, Failure>,
) -> Result<(), Failure> {
    let author = by.author()?;
    let paddlegate = store.open()?;
    match of {
        Of::One => {}
        Of::Prefix => return change_all(&paddlegate, target, &author, store.json, entries, make),
        Of::AllKeys => return change_keys(&paddlegate, target, &author, store.json, entries),
    }
    let limiter = target.find(&paddlegate)?;
    let state = make(&limiter)?;
    record(paddlegate, &author, &limiter, entries);
    if !state.in_use {
        let name = hush(&title(&limiter));
        // As with a mistyped key. Standard error may be closed.
        let _ = writeln!(io::stderr(), "warning: Redis had nothing of this limiter before, is the name right? {name}");
    }
    if store.json {
        return print(&pretty(&changed(&limiter, &state)));
    }
    print(&lines(&limiter, &state))
}

/// Makes a change in all limiters of a prefix. One that cannot be changed keeps no other from it.
fn change_all(
    paddlegate: &Paddlegate,
    target: &Target,
    author: &Author,
    is_json: bool,
    entries: &[Made],
    change: impl Fn(&Limiter) -> Result<RuntimeState, Failure>,
) -> Result<(), Failure> {
    let infos = paddlegate.limiters_with_prefix(&target.name).map_err(|error| failure(&error))?;
    if infos.is_empty() {
        return Err(Failure::Input(format!("NAME: no limiter has such a name: prefix={:?}", target.name)));
    }
    let (mut left, all) = (0, infos.len());
    for info in infos {
        let limiter = target::of_info(paddlegate, &info).map_err(|error| failure(&error))?;
        let made = if info.keyed {
            Err(Failure::Input("it has a state for each key; change it with --key or --all-keys".to_owned()))
        } else {
            change(&limiter)
        };
        match made {
            Ok(state) => {
                record(paddlegate.clone(), author, &limiter, entries);
                print(&if is_json { format!("{}\n", changed(&limiter, &state)) } else { lines(&limiter, &state) })?;
            }
            Err(Failure::Input(message) | Failure::Other(message)) => {
                left += 1;
                let _ = writeln!(io::stderr(), "{}: {}", hush(&title(&limiter)), hush(&message));
            }
            // Without the store nothing goes on.
            Err(failure) => return Err(failure),
        }
    }
    if left == 0 { Ok(()) } else { Err(Failure::Other(format!("{left} of {all} limiters were not changed"))) }
}

/// Makes changes in all keys of a keyed limiter, page by page. One that cannot be changed keeps no other from it.
fn change_keys(
    paddlegate: &Paddlegate,
    target: &Target,
    author: &Author,
    is_json: bool,
    entries: &[Made],
) -> Result<(), Failure> {
    let limiter = target.find_keyed(paddlegate)?;
    let (mut changed, mut unchanged) = (BTreeSet::new(), BTreeMap::new());
    for made in entries {
        let mut cursor: Option<String> = None;
        let ended = loop {
            match limiter.change_keys(made.of_keys(), cursor.as_deref()) {
                Ok(page) => {
                    changed.extend(page.changed);
                    unchanged.extend(page.unchanged.into_iter().map(|(key, error)| (key, error.message().to_owned())));
                    cursor = page.cursor;
                    if cursor.is_none() {
                        break Ok(());
                    }
                }
                Err(error) => break Err(failure(&error)),
            }
        };
        if ended.is_ok() || !changed.is_empty() {
            record(paddlegate.clone(), author, &limiter, std::slice::from_ref(made));
        }
        ended?;
    }
    for (key, message) in &unchanged {
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "{} key={key:?}: {}", hush(&title(&limiter)), hush(message));
    }
    let (count, all) = (changed.len(), changed.union(&unchanged.keys().cloned().collect()).count());
    print(&if is_json {
        let names = json!({ "name": limiter.name(), "group": limiter.group(), "changed": count });
        pretty(&names)
    } else {
        format!("{}\nchanged {count} keys\n", plain(&title(&limiter)))
    })?;
    match unchanged.len() {
        0 => Ok(()),
        left => Err(Failure::Other(format!("{left} of {all} keys were not changed"))),
    }
}

fn changed(limiter: &Limiter, state: &RuntimeState) -> Value {
    let mut value = super::json::runtime_state(state);
    value["name"] = limiter.name().into();
    value["group"] = limiter.group().into();
    value["key"] = limiter.key().into();
    value
}

fn lines(limiter: &Limiter, state: &RuntimeState) -> String {
    let mut lines = vec![plain(&title(limiter))];
    lines.extend(in_force(state));
    lines.join("\n") + "\n"
}

/// Returns the name of a limiter, with its group and key.
pub(super) fn title(limiter: &Limiter) -> String {
    let group = limiter.group().map(|group| format!(" group={group:?}")).unwrap_or_default();
    let key = limiter.key().map(|key| format!(" key={key:?}")).unwrap_or_default();
    format!("{}{group}{key}", limiter.name())
}

/// Returns a line for each thing that rules over the policies of programs.
pub(super) fn in_force(state: &RuntimeState) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(state.paused_for.map(|left| format!("paused for {}", human::span(left.0))));
    lines.extend(state.blocked_for.map(|left| format!("blocked for {}", human::span(left.0))));
    let end =
        state.expires_after.map_or("until restored".to_owned(), |left| format!("ends in {}", human::span(left.0)));
    lines.extend(state.mode.map(|mode| format!("override mode {}, {end}", mode.name())));
    lines.extend(state.overrides.iter().map(|limit| format!("override {}, {end}", shown::limit_with_leases(limit))));
    lines.extend(state.learned.iter().map(|limit| format!("learned {}", shown::limit_with_leases(limit))));
    if lines.is_empty() {
        lines.push("nothing overrides the policies of programs".to_owned());
    }
    lines
}

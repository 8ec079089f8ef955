//! `Row`: one limiter of the list.

use futures_util::future::try_join3;
use paddlegate::{AdminCommand, Answer, Error, History, Inspection, LimiterInfo, Operation, Result, RuntimeState};
use serde::Serialize;

use super::{chart, degraded, show};
use crate::app::App;
use crate::index::{history, last_minute};
use crate::metrics::{inspected, oldest_wait, readable};

/// One limiter of the list, as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// See [`id`](Self::id).
    pub(super) id: String,
    pub(super) name: String,
    #[serde(skip)]
    pub(super) address: String,
    pub(super) limits: String,
    pub(super) used: String,
    /// The numbers of the limit that has the least left; a limit of 0 when there is none.
    pub(super) taken: u64,
    pub(super) limit: u64,
    pub(super) waiting: String,
    /// The longest wait among the first tickets.
    pub(super) oldest: String,
    pub(super) next: String,
    pub(super) granted: String,
    pub(super) refused: String,
    #[serde(skip)]
    pub(super) spark: String,
    #[serde(skip)]
    pub(super) spark_label: String,
    pub(super) state: String,
    /// What is wrong, as a word for the colour: `paused`, `refusing`, `full`, or empty.
    pub(super) mark: &'static str,
}

impl Row {
    /// Reads what is shown of a listed limiter; of one that cannot be read though the store answers, that it cannot.
    pub(super) async fn read(app: &App, info: LimiterInfo) -> Result<Self> {
        let read = readable(Self::looked_into(app, &info).await)?;
        Ok(read.unwrap_or_else(|| {
            let row = Self::new(&info, &History::default(), None);
            Self { state: "cannot be read".to_owned(), ..row }
        }))
    }

    async fn looked_into(app: &App, info: &LimiterInfo) -> Result<Self> {
        let limiter = app.of_info(info)?;
        if limiter.is_keyed() {
            return Ok(Self::new(info, &history(&limiter).await?, None));
        }
        let state = async {
            match limiter.run_async(Operation::Admin { command: AdminCommand::Get }).await? {
                Answer::RuntimeState(state) => Ok(*state),
                other => Err(Error::internal(format!("unexpected reply type: {other:?}"))),
            }
        };
        let (history, inspection, state) = try_join3(history(&limiter), inspected(&limiter), state).await?;
        Ok(Self::new(info, &history, Some((&inspection, &state))))
    }

    /// Returns what tells a limiter from others of its name.
    pub(super) fn id(info: &LimiterInfo) -> String {
        // A group and a name may have any text: the length tells where the one ends.
        let group = info.group.as_deref().unwrap_or_default();
        format!("{}/{}/{group}/{}", info.keyed, group.len(), info.name)
    }

    fn new(info: &LimiterInfo, history: &History, looked: Option<(&Inspection, &RuntimeState)>) -> Self {
        let limits: Vec<String> = info.limits.iter().map(show::limit).collect();
        let last = last_minute(history);
        let mut row = Self {
            id: Self::id(info),
            name: info.name.clone(),
            address: show::address(&info.name) + &show::query(info.group.as_deref(), None),
            limits: limits.join(", "),
            used: "-".to_owned(),
            taken: 0,
            limit: 0,
            waiting: "-".to_owned(),
            oldest: "-".to_owned(),
            next: "-".to_owned(),
            granted: show::count(last.granted),
            refused: show::count(last.refused),
            spark: chart::spark(&history.minutes),
            spark_label: chart::spoken(&history.minutes, "the last hour"),
            state: String::new(),
            mark: "",
        };
        let mut is_paused = false;
        let mut badges: Vec<String> = Vec::new();
        if info.keyed {
            badges.push("keyed".to_owned());
        }
        badges.extend(info.group.as_ref().map(|group| format!("group {group}")));
        badges.extend(degraded::since(history).map(|_| "degraded".to_owned()));
        if let Some((inspection, state)) = looked {
            // The limit that has the least left of its amount.
            let fullest = inspection.limits.iter().max_by(|a, b| {
                (u128::from(a.taken) * u128::from(b.limit.max(1)))
                    .cmp(&(u128::from(b.taken) * u128::from(a.limit.max(1))))
            });
            if let Some(limit) = fullest {
                row.used = format!("{} of {}", show::count(limit.taken), show::count(limit.limit));
                (row.taken, row.limit) = (limit.taken, limit.limit);
            }
            row.waiting = show::count(inspection.ticket_count);
            is_paused = inspection.paused_for.is_some() || inspection.blocked_for.is_some();
            row.oldest = oldest_wait(inspection).map_or_else(|| "-".to_owned(), show::span);
            let all: Option<Vec<_>> = inspection.limits.iter().map(|limit| limit.next_after).collect();
            row.next = match all.map(|all| all.into_iter().max()) {
                Some(Some(after)) if after.0 > 0 => format!("in {}", show::span(after)),
                Some(_) => "now".to_owned(),
                None => "not known".to_owned(),
            };
            badges.extend(inspection.paused_for.map(|left| format!("paused for {}", show::span(left))));
            badges.extend(inspection.blocked_for.map(|left| format!("blocked for {}", show::span(left))));
            if inspection.mode == paddlegate::Mode::Shadow {
                badges.push("shadow".to_owned());
            }
            if !state.overrides.is_empty() {
                badges.push("override".to_owned());
            }
            if !state.learned.is_empty() {
                badges.push("learned".to_owned());
            }
        }
        row.state = badges.join(", ");
        row.mark = if is_paused {
            "paused"
        } else if last.refused > 0 {
            "refusing"
        } else if row.limit > 0 && row.taken >= row.limit {
            "full"
        } else {
            ""
        };
        row
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use paddlegate::Request;

    use super::*;
    use crate::options::Options;

    #[test]
    fn a_group_and_a_name_are_told_apart() {
        let app = App::open(Options::default()).expect("a store in memory");
        for (group, name) in [("a/b", "c"), ("a", "b/c")] {
            let limiter = app.paddlegate().window(name, 1, Duration::from_secs(60)).expect("a limiter");
            limiter.with_group(group).expect("a group").try_acquire(Request::cost(1)).expect("a decision");
        }
        let infos = app.paddlegate().limiters().expect("the list");
        assert_eq!(infos.len(), 2);
        assert_ne!(Row::id(&infos[0]), Row::id(&infos[1]));
    }
}

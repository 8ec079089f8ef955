//! `Target`: the arguments that name a limiter, and how it is found.

use std::path::PathBuf;

use clap::Args;
use paddlegate::{Limiter, LimiterInfo, Paddlegate};

use super::store::failure;
use crate::failure::Failure;
use crate::policies::{self, Site};
use crate::source;

/// The limiter of a verb.
#[derive(Args, Debug)]
pub(crate) struct Target {
    /// The name of the limiter
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The key, of a limiter with a state for each key
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// The group, when the name has several; "" for none
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// A document that defines the limiter, for one that no program has used or whose statistics are off
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
}

impl Target {
    /// Finds the limiter in the document, or in the list of those that programs have used.
    pub(crate) fn find(&self, paddlegate: &Paddlegate) -> Result<Limiter, Failure> {
        let limiter = self.without_key(paddlegate, self.key.is_some())?;
        match &self.key {
            None => Ok(limiter),
            Some(_) if !limiter.is_keyed() => Err(Failure::Input(format!(
                "--key: the limiter has one state for all; leave the key out: name={:?}",
                self.name
            ))),
            Some(key) => limiter.with_key(key).map_err(|error| failure(&error)),
        }
    }

    /// Finds the limiter whose keys are all meant.
    pub(crate) fn find_keyed(&self, paddlegate: &Paddlegate) -> Result<Limiter, Failure> {
        let limiter = self.without_key(paddlegate, true)?;
        if limiter.is_keyed() {
            return Ok(limiter);
        }
        Err(Failure::Input(format!(
            "--all-keys: the limiter has one state for all; leave it out: name={:?}",
            self.name
        )))
    }

    fn without_key(&self, paddlegate: &Paddlegate, is_keyed: bool) -> Result<Limiter, Failure> {
        if let Some(file) = &self.limits {
            let site = Site { file: source::name(file), path: "$".to_owned(), chooser: "NAME", most: 1 };
            let text = source::read(file)?;
            let definition = policies::choose(&text, &[&self.name], &site)?.into_iter().next();
            let definition = definition.ok_or_else(|| Failure::Input(format!("{}: defines no limiter", site.file)))?;
            self.check_group(definition.group.as_deref(), &site.file)?;
            return paddlegate.define(definition).map(|loaded| loaded.limiter).map_err(|error| failure(&error));
        }
        self.listed(paddlegate, is_keyed).and_then(|info| of_info(paddlegate, &info).map_err(|error| failure(&error)))
    }

    /// Refuses a group that is not the one of the document: the limiter of the document is another one.
    fn check_group(&self, defined: Option<&str>, file: &str) -> Result<(), Failure> {
        let defined = defined.unwrap_or_default();
        match &self.group {
            Some(group) if group != defined => Err(Failure::Input(format!(
                "--group: {file} defines the name in another group: group={group:?}, in the file {defined:?}"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the entry of the list.
    fn listed(&self, paddlegate: &Paddlegate, is_keyed: bool) -> Result<LimiterInfo, Failure> {
        let mut named = named(paddlegate, &self.name)?;
        if named.is_empty() {
            return Err(Failure::Input(format!(
                "NAME: no program has used such a limiter; see `paddlegate list`, or define it by --limits FILE: name={:?}",
                self.name
            )));
        }
        let groups =
            named.iter().map(|info| format!("{:?}", info.group.as_deref().unwrap_or_default())).collect::<Vec<_>>();
        if let Some(group) = &self.group {
            named.retain(|info| info.group.as_deref().unwrap_or_default() == group);
        }
        if named.is_empty() {
            return Err(Failure::Input(format!(
                "--group: the name is not in this group; it is in {}",
                groups.join(", ")
            )));
        }
        if named.iter().any(|info| info.group != named[0].group) {
            return Err(Failure::Input(format!(
                "--group: the name is in several groups, choose one: {}",
                groups.join(", ")
            )));
        }
        let wanted = named.iter().position(|info| info.keyed == is_keyed).unwrap_or(0);
        Ok(named.swap_remove(wanted))
    }
}

/// Returns the entries of a name: one for each group, with and without keys.
fn named(paddlegate: &Paddlegate, name: &str) -> Result<Vec<LimiterInfo>, Failure> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = paddlegate.limiter_page(name, cursor.as_deref()).map_err(|error| failure(&error))?;
        found.extend(page.limiters.into_iter().filter(|info| info.name == name));
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(LimiterInfo::sorted(found));
        }
    }
}

/// Creates the limiter of an entry of the list.
pub(crate) fn of_info(paddlegate: &Paddlegate, info: &LimiterInfo) -> paddlegate::Result<Limiter> {
    let limiter = paddlegate.limiter(&info.name, info.policy()?)?;
    let limiter = info.group.as_deref().map_or(Ok(limiter.clone()), |group| limiter.with_group(group))?;
    if info.keyed { limiter.keyed() } else { Ok(limiter) }
}

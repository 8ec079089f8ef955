//! `App`: what all requests share.

use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use paddlegate::{Limiter, LimiterInfo, LimiterPage, LoadedLimiter, Micros, Paddlegate, TestClock};
use paddlegate_ojs::Ojs;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Scope, Tokens};
use crate::audit::Audit;
use crate::count_news::CountNews;
use crate::failure::Failure;
use crate::histogram::Histogram;
use crate::index::Indexes;
use crate::json::PolicyBody;
use crate::limits_file::LimitsFile;
use crate::metrics::Snapshots;
use crate::options::Options;
use crate::pages::Rows;
use crate::problem::Problem;
use crate::samples::Samples;
use crate::simulator::Simulator;
use crate::store_times::StoreTimes;
use crate::tls::{self, Certificate};
use crate::waits::Waits;
use crate::wall_clock::since_1970;

/// The maximum number of policies from bodies that are remembered; beyond it all are forgotten.
const MAX_POLICIES: usize = 1_000;

/// What all requests share: the store, the limiters of the file, and whether the server stops. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// The contents of an [`App`].
pub struct Shared {
    paddlegate: Paddlegate,
    clock: Option<TestClock>,
    options: Options,
    tokens: Option<ArcSwap<Tokens>>,
    simulator: Option<Simulator>,
    certificate: Option<Arc<Certificate>>,
    limits: ArcSwap<LimitsFile>,
    /// The limiters of bodies by name and policy, so that a repeated policy is read once.
    policies: Mutex<HashMap<(String, String), Limiter>>,
    /// The words that the forms of a caller send, which no other site knows.
    csrf: Mutex<HashMap<String, String>>,
    store_times: Arc<StoreTimes>,
    request_times: Histogram,
    snapshots: Snapshots,
    indexes: Indexes,
    samples: Samples,
    rows: Rows,
    waits: Waits,
    audit: Audit,
    count_news: CountNews,
    /// The job server, once its routes are made, where the store can keep jobs.
    ojs: ArcSwapOption<Ojs>,
    stopping: CancellationToken,
    /// Told when all connections are in use.
    crowded: Notify,
    /// What ends when the server stops or has read the tokens again: what a stream tells is checked when it begins.
    streams: ArcSwap<CancellationToken>,
}

impl App {
    /// Opens the store and reads the files. Connects at the first call.
    pub(crate) fn open(options: Options) -> Result<Self, Failure> {
        let url = options.redis.as_deref().unwrap_or("memory://");
        let clock = options.test_clock.map(TestClock::new).transpose();
        let clock = clock.map_err(|error| Failure::Input(format!("--test-clock: {}", error.message())))?;
        let paddlegate = Paddlegate::open_with_clock(url, options.timeout, clock.as_ref()).map_err(|error| {
            let option = if error.argument() == Some("timeout") { "--timeout" } else { "--redis" };
            Failure::Input(format!("{option}: {}", error.message()))
        })?;
        let limits = LimitsFile::of(&options, &paddlegate)?;
        let tokens = options.tokens.as_deref().map(Tokens::read).transpose()?;
        let certificate =
            options.tls.as_ref().map(|(certificates, key)| Certificate::read(certificates, key)).transpose()?;
        let simulator = options.simulator.as_deref().map(Simulator::read).transpose()?;
        let stopping = CancellationToken::new();
        let store_times = Arc::<StoreTimes>::default();
        let audit = if paddlegate.is_in_memory() {
            Audit::in_memory()
        } else {
            Audit::in_redis(paddlegate.clone(), stopping.clone())
        };
        Ok(Self(Arc::new(Shared {
            paddlegate,
            clock,
            options,
            tokens: tokens.map(ArcSwap::from_pointee),
            simulator,
            certificate,
            limits: ArcSwap::from_pointee(limits.unwrap_or_default()),
            policies: Mutex::default(),
            csrf: Mutex::default(),
            waits: Waits::new(store_times.clone()),
            store_times,
            request_times: Histogram::default(),
            snapshots: Snapshots::default(),
            indexes: Indexes::default(),
            samples: Samples::default(),
            rows: Rows::default(),
            audit,
            count_news: CountNews::default(),
            ojs: ArcSwapOption::empty(),
            streams: ArcSwap::from_pointee(stopping.child_token()),
            stopping,
            crowded: Notify::new(),
        })))
    }
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Shared {
    /// Returns the store.
    pub fn paddlegate(&self) -> &Paddlegate {
        &self.paddlegate
    }

    /// Returns how the server runs.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns what ends when the server stops: a request that waits then gives up.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Returns what ends a stream; to be asked for before the token of the caller is checked. Clients come back by themselves.
    pub(crate) fn streams(&self) -> CancellationToken {
        CancellationToken::clone(&self.streams.load())
    }

    /// Returns the limiter of the limits file with this name.
    pub fn limiter(&self, name: &str) -> Option<LoadedLimiter> {
        self.limits.load().get(name).cloned()
    }

    /// Returns the limits file, as it is now.
    pub(crate) fn limits(&self) -> Arc<LimitsFile> {
        self.limits.load_full()
    }

    /// Returns the job server, if the store can keep jobs.
    pub(crate) fn ojs(&self) -> Option<Arc<Ojs>> {
        self.ojs.load_full()
    }

    /// Keeps the job server whose routes are served.
    pub(crate) fn keep_ojs(&self, ojs: Ojs) -> Arc<Ojs> {
        let ojs = Arc::new(ojs);
        self.ojs.store(Some(ojs.clone()));
        ojs
    }

    /// Returns the clock of a server for tests.
    pub(crate) const fn clock(&self) -> Option<&TestClock> {
        self.clock.as_ref()
    }

    /// Returns the time of the clock for tests, or that of this machine, which may not be that of the store.
    pub(crate) fn now(&self) -> Micros {
        self.clock.as_ref().map_or_else(|| Micros(u64::try_from(since_1970().as_micros()).unwrap_or(0)), TestClock::now)
    }

    /// Returns the word that the forms of a caller send. Without random bytes there is none, and no form works.
    pub(crate) fn csrf(&self, who: &str) -> String {
        let mut words = self.csrf.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(word) = words.get(who) {
            return word.clone();
        }
        let Ok(word) = paddlegate::random_word() else { return String::new() };
        words.insert(who.to_owned(), word.clone());
        word
    }

    pub(crate) fn audit(&self) -> &Audit {
        &self.audit
    }

    pub(crate) const fn count_news(&self) -> &CountNews {
        &self.count_news
    }

    /// Returns how many wake-ups have reached a request that waits.
    pub fn wakeups(&self) -> u64 {
        self.waits.wakeups()
    }

    pub(crate) fn store_times(&self) -> &StoreTimes {
        &self.store_times
    }

    pub(crate) const fn request_times(&self) -> &Histogram {
        &self.request_times
    }

    pub(crate) const fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    pub(crate) const fn indexes(&self) -> &Indexes {
        &self.indexes
    }

    pub(crate) const fn samples(&self) -> &Samples {
        &self.samples
    }

    pub(crate) const fn rows(&self) -> &Rows {
        &self.rows
    }

    pub(crate) fn waits(&self) -> &Waits {
        &self.waits
    }

    pub(crate) const fn simulator(&self) -> Option<&Simulator> {
        self.simulator.as_ref()
    }

    pub(crate) const fn certificate(&self) -> Option<&Arc<Certificate>> {
        self.certificate.as_ref()
    }

    /// Returns what is told when all connections are in use.
    pub(crate) const fn crowded(&self) -> &Notify {
        &self.crowded
    }

    pub(crate) fn tokens(&self) -> Option<Arc<Tokens>> {
        self.tokens.as_ref().map(ArcSwap::load_full)
    }

    /// Reads the files again. A fault keeps what was read before.
    pub fn reload(&self) -> Result<(), Failure> {
        let limits = LimitsFile::of(&self.options, &self.paddlegate)?;
        let tokens = self.options.tokens.as_deref().map(Tokens::read).transpose()?;
        let key = self.options.tls.as_ref().map(|(certificates, key)| tls::read(certificates, key)).transpose()?;
        if let (Some(key), Some(certificate)) = (key, &self.certificate) {
            certificate.store(key);
        }
        if let Some(limits) = limits {
            self.limits.store(Arc::new(limits));
        }
        if let (Some(tokens), Some(current)) = (tokens, &self.tokens) {
            current.store(Arc::new(tokens));
            self.streams.swap(Arc::new(self.stopping.child_token())).cancel();
        }
        Ok(())
    }

    /// Returns the limiter of a call, if the caller may decide with it: that of its body, otherwise that of the limits file.
    pub(crate) fn of_call(
        &self,
        access: &Access,
        name: &str,
        policy: Option<&PolicyBody>,
        key: Option<&str>,
    ) -> Result<Limiter, Problem> {
        access.check(Scope::Decide, name)?;
        let limiter = match policy {
            Some(policy) => {
                access.check(Scope::Operate, name)?;
                self.of_policy(name, policy)?
            }
            None => self.limits.load().get(name).map(|loaded| loaded.limiter.clone()).ok_or_else(|| {
                let detail = "the limits file has no such limiter: add it, or send a policy in the body";
                Problem::not_found(format!("{detail}: name={name:?}"))
            })?,
        };
        with_key(limiter, key)
    }

    fn of_policy(&self, name: &str, policy: &PolicyBody) -> Result<Limiter, Problem> {
        let known = (name.to_owned(), policy.text().to_owned());
        if let Some(limiter) = self.policies.lock().unwrap_or_else(PoisonError::into_inner).get(&known) {
            return Ok(limiter.clone());
        }
        let limiter = self.paddlegate.define(policy.definition(name)?)?.limiter;
        let limiter = limiter.with_on_unavailable(self.options.on_unavailable);
        let mut policies = self.policies.lock().unwrap_or_else(PoisonError::into_inner);
        if policies.len() >= MAX_POLICIES {
            policies.clear();
        }
        policies.insert(known, limiter.clone());
        Ok(limiter)
    }

    /// Returns a limiter that the file or any program knows, for an operator.
    pub(crate) async fn known(&self, name: &str, group: Option<&str>, key: Option<&str>) -> Result<Limiter, Problem> {
        with_key(self.known_without_key(name, group, key.is_some()).await?, key)
    }

    /// Returns such a limiter without its key, of all keys together. The group is empty for that without one, and must be given when
    /// programs have the name in several and the file has it not.
    pub(crate) async fn known_without_key(
        &self,
        name: &str,
        group: Option<&str>,
        prefers_keyed: bool,
    ) -> Result<Limiter, Problem> {
        let is_asked = |of: Option<&str>| group.is_none_or(|group| group == of.unwrap_or_default());
        let loaded = self.limits.load().get(name).map(|loaded| loaded.limiter.clone());
        let mut groups = BTreeSet::new();
        if let Some(limiter) = loaded {
            if is_asked(limiter.group()) {
                return Ok(limiter);
            }
            groups.insert(limiter.group().unwrap_or_default().to_owned());
        }
        let (mut found, mut cursor) = (Vec::<LimiterInfo>::new(), None);
        loop {
            let page = self.paddlegate.limiter_page_async(name, cursor.as_deref()).await?;
            for info in page.limiters.into_iter().filter(|info| info.name == name) {
                groups.insert(info.group.clone().unwrap_or_default());
                if is_asked(info.group.as_deref()) {
                    found.push(info);
                }
            }
            cursor = page.cursor;
            // Without a group, another one may be on any page.
            let is_found = group.is_some() && found.iter().any(|info| info.keyed == prefers_keyed);
            if cursor.is_none() || is_found {
                break;
            }
        }
        let named = || groups.iter().map(|group| format!("{group:?}")).collect::<Vec<_>>().join(", ");
        if group.is_none() && groups.len() > 1 {
            let detail = format!("the name is in several groups, choose one, \"\" for none: {}", named());
            return Err(Problem::invalid("group", detail));
        }
        let found = LimiterInfo::sorted(found);
        let info = found.iter().find(|info| info.keyed == prefers_keyed).or(found.first());
        match info {
            Some(info) => Ok(self.of_info(info)?),
            None if groups.is_empty() => Err(Problem::not_found(format!(
                "neither the limits file nor any program has such a limiter: name={name:?}"
            ))),
            None => Err(Problem::invalid("group", format!("the name is not in this group; it is in {}", named()))),
        }
    }

    /// Reads a page of the limiters that any program has used, and with the last page those of the limits file that none has.
    pub(crate) async fn limiter_page(&self, prefix: &str, cursor: Option<&str>) -> paddlegate::Result<LimiterPage> {
        let page = self.paddlegate.limiter_page_async(prefix, cursor).await?;
        Ok(self.limits.load().add_unused(prefix, page))
    }

    /// Returns the limiter of a page, whose address has no group for a limiter without one.
    pub(crate) async fn shown(&self, name: &str, group: Option<&str>, prefers_keyed: bool) -> Result<Limiter, Problem> {
        let has_group = |loaded: &LoadedLimiter| loaded.limiter.group().is_some();
        if group.is_none() && self.limits.load().get(name).is_some_and(has_group) {
            // The file comes first, but this address is of the one without a group, if there is one.
            match self.known_without_key(name, Some(""), prefers_keyed).await {
                Err(problem) if problem.argument.as_deref() == Some("group") => {}
                found => return found,
            }
        }
        match self.known_without_key(name, group, prefers_keyed).await {
            Err(problem) if group.is_none() && problem.argument.as_deref() == Some("group") => {
                self.known_without_key(name, Some(""), prefers_keyed).await
            }
            found => found,
        }
    }

    /// Returns the limiter of an entry of the list.
    pub(crate) fn of_info(&self, info: &LimiterInfo) -> paddlegate::Result<Limiter> {
        let limiter = self.paddlegate.limiter(&info.name, info.policy()?)?;
        let limiter = info.group.as_deref().map_or(Ok(limiter.clone()), |group| limiter.with_group(group))?;
        Ok(if info.keyed { limiter.keyed()? } else { limiter })
    }
}

fn with_key(limiter: Limiter, key: Option<&str>) -> Result<Limiter, Problem> {
    match key {
        Some(key) => Ok(limiter.with_key(key)?),
        None => Ok(limiter),
    }
}

//! `LoadedLimiter`: a limiter from a document.

use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::client::paddlegate::Paddlegate;
use crate::formats::document::Document;
use crate::formats::{Definition, LoadOptions};
use crate::model::on_limit::OnLimit;

/// A limiter from a document, with the document's handling of refused calls.
#[derive(Clone, Debug)]
pub struct LoadedLimiter {
    /// The limiter.
    pub limiter: Limiter,
    /// The maximum wait of a call; the caller's default when `None`.
    pub wait_timeout: Option<Micros>,
    /// The handling of refused work.
    pub on_limit: OnLimit,
}

impl Paddlegate {
    /// Creates the limiters of a document, in its order. Accepts the native format and the other
    /// [formats](crate::formats).
    ///
    /// `Invalid` contains the JSON path of a fault. Services that share a document each load it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Micros, Paddlegate, Request};
    /// let limiters = Paddlegate::memory().load(
    ///     r#"{ "limiters": { "api": { "window": { "limit": 100, "per": "minute" }, "wait_timeout": "5s" } } }"#,
    /// )?;
    /// assert_eq!((limiters[0].limiter.name(), limiters[0].wait_timeout), ("api", Some(Micros(5_000_000))));
    /// assert_eq!(limiters[0].limiter.try_acquire(Request::cost(1))?.remaining, Some(99));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn load(&self, document: &str) -> Result<Vec<LoadedLimiter>> {
        self.load_with(document, &LoadOptions::default())
    }

    /// [`load`](Self::load) with options from the caller, such as the tenant of an Open Job Spec job.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{LoadOptions, Paddlegate};
    /// let options = LoadOptions { tenant: Some("acme"), ..LoadOptions::default() };
    /// let limiters = Paddlegate::memory().load_with(r#"{ "key": "stripe", "concurrency": 3 }"#, &options)?;
    /// assert_eq!(limiters[0].limiter.name(), "ojs/tenant/acme/key/stripe");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn load_with(&self, document: &str, options: &LoadOptions<'_>) -> Result<Vec<LoadedLimiter>> {
        let definitions = Document::parse(document)?.definitions_with(options)?;
        definitions.into_iter().map(|definition| self.define(definition)).collect()
    }

    /// Creates the limiter of a [`Definition`], for a host that changes what a document defines, such as the name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Definition, Document, Paddlegate};
    /// let document = Document::parse(r#"{ "limiters": { "policy": { "window": { "limit": 100, "per": "minute" } } } }"#)?;
    /// let policy = document.definitions()?.remove(0);
    /// let loaded = Paddlegate::memory().define(Definition { name: "api".to_owned(), ..policy })?;
    /// assert_eq!(loaded.limiter.name(), "api");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn define(&self, definition: Definition) -> Result<LoadedLimiter> {
        let limiter = self.limiter_with(&definition.name, definition.policy, definition.ttl)?;
        let limiter = definition.group.map_or(Ok(limiter.clone()), |group| limiter.with_group(&group))?;
        let limiter = if definition.keyed { limiter.keyed()? } else { limiter };
        Ok(LoadedLimiter {
            limiter: if definition.statistics { limiter } else { limiter.without_statistics()? },
            wait_timeout: definition.wait_timeout,
            on_limit: definition.on_limit,
        })
    }
}

//! `LoadedLimiter`: a limiter from a document.

use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::client::paddlegate::Paddlegate;
use crate::formats::LoadOptions;
use crate::formats::document::Document;
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
    pub fn load(&self, document: &str) -> Result<Vec<LoadedLimiter>> {
        self.load_with(document, &LoadOptions::default())
    }

    /// [`load`](Self::load) with options from the caller, such as the tenant of an Open Job Spec job.
    pub fn load_with(&self, document: &str, options: &LoadOptions<'_>) -> Result<Vec<LoadedLimiter>> {
        let definitions = Document::parse(document)?.definitions_with(options)?;
        let loaded = definitions.into_iter().map(|definition| {
            Ok(LoadedLimiter {
                limiter: self.limiter_with(&definition.name, definition.policy, definition.ttl)?,
                wait_timeout: definition.wait_timeout,
                on_limit: definition.on_limit,
            })
        });
        loaded.collect()
    }
}

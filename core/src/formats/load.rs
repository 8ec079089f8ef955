//! `LoadedLimiter`: a limiter that a document defines.

use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::client::paddlegate::Paddlegate;
use crate::formats::LoadOptions;
use crate::formats::document::Document;
use crate::model::on_limit::OnLimit;

/// A limiter of a document, with what the document says about those who are refused.
#[derive(Clone, Debug)]
pub struct LoadedLimiter {
    /// The limiter.
    pub limiter: Limiter,
    /// How long a call waits at most; the caller's default when the document does not say.
    pub wait_timeout: Option<Micros>,
    /// What happens to work that is refused.
    pub on_limit: OnLimit,
}

impl Paddlegate {
    /// The limiters that a document defines, in its order: our own format, or one of the [dialects](crate::formats).
    ///
    /// `Invalid` names the place of a fault as a JSON path. A file that all services share is read by each of them.
    pub fn load(&self, document: &str) -> Result<Vec<LoadedLimiter>> {
        self.load_with(document, &LoadOptions::default())
    }

    /// [`load`](Self::load) with what the caller says beside the document, such as the tenant of a job of Open Job Spec.
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

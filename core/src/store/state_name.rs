//! `StateName`: the name of a state in memory, which can also be looked up by its parts.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The name of a state: that of its limiter and its group, and the key of a keyed limiter.
#[derive(Clone, Debug)]
pub(crate) struct StateName {
    pub(crate) name: Arc<str>,
    pub(crate) group: Option<Arc<str>>,
    pub(crate) key: Option<Box<str>>,
}

/// The parts of a name, by which a state is found without making its name.
pub(super) trait NameParts {
    fn parts(&self) -> (&str, Option<&str>, Option<&str>);
}

impl NameParts for StateName {
    fn parts(&self) -> (&str, Option<&str>, Option<&str>) {
        (&self.name, self.group.as_deref(), self.key.as_deref())
    }
}

impl NameParts for (&str, Option<&str>, &str) {
    fn parts(&self) -> (&str, Option<&str>, Option<&str>) {
        (self.0, self.1, Some(self.2))
    }
}

impl Hash for dyn NameParts + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for dyn NameParts + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn NameParts + '_ {}

impl Hash for StateName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for StateName {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for StateName {}

impl<'a> Borrow<dyn NameParts + 'a> for StateName {
    fn borrow(&self) -> &(dyn NameParts + 'a) {
        self
    }
}

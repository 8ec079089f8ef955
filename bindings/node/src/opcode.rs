//! `Opcode`: what a limiter's function is to do. JavaScript reads the numbers from the addon.

use napi_derive::napi;

macro_rules! opcodes {
    ($(#[$doc:meta])* $first:ident, $($(#[$more:meta])* $name:ident,)*) => {
        /// The operation in the shared buffer.
        #[napi]
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum Opcode { $(#[$doc])* $first = 1, $($(#[$more])* $name,)* }

        impl Opcode {
            const ALL: &[Self] = &[Self::$first, $(Self::$name,)*];
        }
    };
}

opcodes! {
    Acquire,
    AcquireWithId,
    /// As `Acquire`, with only the first field returned.
    Allow,
    /// As `Allow` of one unit, for the key in the buffer.
    AllowKey,
    Peek,
    Debit,
    Refund,
    Correct,
    Extend,
    Release,
    Renew,
    Cancel,
    Ready,
    Inspect,
    Statistics,
    History,
    Reset,
    /// Decides about a job, with the handling of a refused one in place of the channel.
    Admit,
    // These return no answer of an operation.
    /// Returns the notification node as a text.
    NotificationNode,
    /// Returns the wake-up channel of the memory store as a text; creates it if needed.
    Listen,
    /// Picks the limiter as one of several that decide together.
    Pick,
    /// Only checks the key.
    CheckKey,
    /// Returns 1 if grants are leases, otherwise 0.
    GrantsLeases,
    // These need an admin request.
    Pause,
    Block,
    Resume,
    Override,
    Restore,
    RuntimeState,
    ReportBudget,
    Learn,
    // These are procedures of several operations, and need an admin request too.
    ApplyOjsOverride,
    ApplyOjsSignal,
    AdmitAll,
}

impl Opcode {
    pub(crate) fn from_number(number: usize) -> Option<Self> {
        Self::ALL.get(number.checked_sub(1)?).copied()
    }
}

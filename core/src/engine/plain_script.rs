//! The Lua scripts of plain calls, one for each kind of limit, and of a release; see `plain/state.lua`.

/// A script begins with what differs between the kinds.
macro_rules! plain {
    ($constants:literal, $($piece:literal),+) => {
        concat!($constants, "\n", $(include_str!($piece)),+)
    };
}

/// The plain calls that have a script of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainKind {
    Meter,
    /// A meter of one unit.
    Throttle,
    Bucket,
    Window,
    /// A meter, with a permit.
    MeterPermit,
    /// Two to eight limits.
    Several,
    /// The same, with a permit.
    SeveralPermit,
    /// A lease of a concurrency limit.
    Lease,
    /// The release of a lease.
    Release,
}

impl PlainKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 9] = [
        Self::Meter,
        Self::Throttle,
        Self::Bucket,
        Self::Window,
        Self::MeterPermit,
        Self::Several,
        Self::SeveralPermit,
        Self::Lease,
        Self::Release,
    ];

    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Meter => plain!(
                "local units, server_time, is_single = ARGV[5], ARGV[6], false",
                "plain/time.lua",
                "plain/state.lua",
                "plain/leaky.lua",
                "plain/level.lua"
            ),
            Self::Throttle => plain!(
                "local units, server_time, is_single = ARGV[5], ARGV[6], true",
                "plain/time.lua",
                "plain/state.lua",
                "plain/leaky.lua",
                "plain/level.lua"
            ),
            Self::Bucket => {
                plain!(
                    "local units, server_time = ARGV[6], ARGV[7]",
                    "plain/time.lua",
                    "plain/state.lua",
                    "plain/bucket.lua",
                    "plain/count.lua"
                )
            }
            Self::Window => {
                plain!(
                    "local server_time = ARGV[6]",
                    "plain/time.lua",
                    "plain/state.lua",
                    "plain/window.lua",
                    "plain/entry.lua"
                )
            }
            Self::MeterPermit => plain!(
                "local units, server_time, is_single = ARGV[5], ARGV[9], false\n\
                 local permit, charge, settle_within, permits = ARGV[6], ARGV[7], ARGV[8] + 0, KEYS[2]",
                "plain/time.lua",
                "plain/state.lua",
                "plain/leaky.lua",
                "plain/permit.lua",
                "plain/level.lua"
            ),
            Self::Several => {
                plain!(
                    "local server_time = ARGV[3 * #ARGV[3] + 5]",
                    "plain/time.lua",
                    "plain/several.lua",
                    "plain/levels.lua"
                )
            }
            Self::SeveralPermit => plain!(
                "local more = 3 * #ARGV[3] + 4\n\
                 local permit, charge, settle_within, permits = ARGV[more + 1], ARGV[more + 2], ARGV[more + 3] + 0, KEYS[#KEYS]\n\
                 local server_time = ARGV[more + 4]",
                "plain/time.lua",
                "plain/several.lua",
                "plain/permit.lua",
                "plain/levels.lua"
            ),
            Self::Lease => {
                plain!(
                    "local units, id, server_time = ARGV[5], ARGV[6], ARGV[7]",
                    "plain/time.lua",
                    "plain/state.lua",
                    "plain/lease.lua"
                )
            }
            Self::Release => plain!(
                "local id, granted_at, server_time = ARGV[5], ARGV[6], ARGV[7]",
                "plain/time.lua",
                "plain/state.lua",
                "plain/release.lua"
            ),
        }
    }
}

/// Returns the texts that `EVAL` sends for plain calls: of a meter, a throttle, a bucket, a window, a meter with a permit, of
/// several limits without a permit and with one, of a lease and of its release.
pub fn plain_scripts() -> [&'static str; 9] {
    PlainKind::ALL.map(PlainKind::text)
}

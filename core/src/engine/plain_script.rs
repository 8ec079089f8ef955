//! The Lua scripts of plain calls, one for each kind of limit; see `plain/state.lua`.

/// A script begins with what differs between the kinds.
macro_rules! plain {
    ($constants:literal, $($piece:literal),+) => {
        concat!($constants, "\n", include_str!("plain/state.lua"), $(include_str!($piece)),+)
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
}

impl PlainKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 5] = [Self::Meter, Self::Throttle, Self::Bucket, Self::Window, Self::MeterPermit];

    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Meter => plain!(
                "local units, server_time, is_single = ARGV[5], ARGV[6], false",
                "plain/leaky.lua",
                "plain/level.lua"
            ),
            Self::Throttle => plain!(
                "local units, server_time, is_single = ARGV[5], ARGV[6], true",
                "plain/leaky.lua",
                "plain/level.lua"
            ),
            Self::Bucket => plain!("local units, server_time = ARGV[6], ARGV[7]", "plain/bucket.lua"),
            Self::Window => plain!("local units, server_time = ARGV[5], ARGV[6]", "plain/window.lua"),
            Self::MeterPermit => plain!(
                "local units, server_time, is_single = ARGV[5], ARGV[9], false",
                "plain/leaky.lua",
                "plain/permit.lua",
                "plain/level.lua"
            ),
        }
    }
}

/// Returns the texts that `EVAL` sends for plain calls: of a meter, a throttle, a bucket, a window, and a meter with a permit.
pub fn plain_scripts() -> [&'static str; 5] {
    PlainKind::ALL.map(PlainKind::text)
}

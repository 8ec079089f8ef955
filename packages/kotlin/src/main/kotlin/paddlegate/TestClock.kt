package paddlegate

import java.time.Instant
import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import paddlegate.internal.NativeClock

/**
 * A clock for tests of code that uses limiters. It moves only when the test moves it, and several stores may share one.
 *
 * A call that waits still sleeps in real time and reads the clock at each attempt. The time is from 1970 to 2112; another is an
 * [InvalidException].
 */
public class TestClock @JvmOverloads constructor(now: Instant = Instant.EPOCH) {
    internal val native: NativeClock = native("now" to "now") { NativeClock(now.us) }

    /** The time of the clock. An earlier one is that of a server whose clock ran backwards. */
    public var now: Instant
        get() = native.nowUs().instant
        set(value) = native { native.set(value.us) }

    /** Moves the clock forward by at most ten years. */
    public fun advance(by: Duration): Unit = native { native.advance(by.us) }

    /** See the form with a duration of Kotlin. */
    public fun advance(by: java.time.Duration): Unit = advance(by.toKotlinDuration())
}

package paddlegate

import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import paddlegate.internal.NativeBlockAfter
import paddlegate.internal.NativeOptions
import paddlegate.internal.defaultWaitTimeoutUs

/** The options of a limiter, which hold for all its calls. In Java the methods set them. */
public class LimiterOptions internal constructor() {
    /** How long a call waits; zero does not wait. The default is 5 seconds. */
    public var waitTimeout: Duration? = null

    /** How long a lease of a limit of concurrency lasts unless it is renewed. The default is 30 seconds. */
    public var lockTimeout: Duration? = null

    /** How long after its last use the limiter is listed and its statistics are kept. The default is 90 days. */
    public var ttl: Duration? = null

    /** Puts the limiter beside others in a cluster, so that they can decide together. */
    public var group: String? = null

    /** Whether the limiter has a state for each [Call.key]. */
    public var keyed: Boolean = false

    /** Whether the limiter has statistics and an entry in the list of limiters. */
    public var statistics: Boolean = true

    /** "enforce", the default, or "shadow", which decides and counts but refuses nobody. */
    public var mode: String? = null

    /** A call that waits gets the next higher priority after each such time: 1 second to 7 days. The default is never. */
    public var aging: Duration? = null

    /** The action for jobs over the limit: "wait", the default, "reschedule", "drop" or "raise". */
    public var onLimit: String? = null

    /** While the store cannot decide: "raise", the default, "fail_closed", "fail_open" or "local". */
    public var onUnavailable: String? = null

    /** The share of every limit that this process has with "local". The default is 100. */
    public var localSharePercent: Long? = null

    private var blockAfter: NativeBlockAfter? = null

    /** Blocks by itself: after so many refusals within a time, for a duration. */
    public fun blockAfter(refusals: Long, within: Duration, duration: Duration) {
        blockAfter = NativeBlockAfter(refusals, within.us, duration.us)
    }

    /** See the form with durations of Kotlin. */
    public fun blockAfter(refusals: Long, within: java.time.Duration, duration: java.time.Duration): Unit =
        blockAfter(refusals, within.toKotlinDuration(), duration.toKotlinDuration())

    /** Sets [waitTimeout]. */
    @JvmName("setWaitTimeout")
    public fun waitTimeout(time: java.time.Duration) {
        waitTimeout = time.toKotlinDuration()
    }

    /** Sets [lockTimeout]. */
    @JvmName("setLockTimeout")
    public fun lockTimeout(time: java.time.Duration) {
        lockTimeout = time.toKotlinDuration()
    }

    /** Sets [ttl]. */
    @JvmName("setTtl")
    public fun ttl(time: java.time.Duration) {
        ttl = time.toKotlinDuration()
    }

    /** Sets [aging]. */
    @JvmName("setAging")
    public fun aging(time: java.time.Duration) {
        aging = time.toKotlinDuration()
    }

    internal val native: NativeOptions
        get() =
            NativeOptions(
                lockTimeout?.us,
                ttl?.us,
                whole("group", group),
                keyed,
                statistics,
                whole("mode", mode),
                blockAfter,
                aging?.us,
                whole("onUnavailable", onUnavailable),
                localSharePercent,
            )

    internal val wait: Duration
        get() = checkedWait(waitTimeout) ?: defaultWaitTimeoutUs().duration
}

/** Returns a wait that the library accepts later. */
internal fun checkedWait(wait: Duration?): Duration? {
    if (wait != null && wait.isNegative()) throw InvalidException("waitTimeout", "must not be negative: waitTimeout=$wait")
    return wait
}

package paddlegate

import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlin.time.toKotlinDuration
import paddlegate.internal.NativeLimit

/**
 * One limit of a limiter. The functions of its companion make one of each kind.
 *
 * @property kind "bucket", "window", "leaky", "points", "throttle", "concurrency", "quota", "unlimited" or "paused".
 * @property amount the limit or the capacity in units; the starts per interval of a throttle.
 * @property interval the interval, the time to drain or refill fully, or how long a lease lasts.
 * @property label names the limit in decisions, costs and overrides; null for the name of its kind.
 * @property offset how much earlier the intervals of a bucket start: two hours for UTC+2.
 * @property refund what a correction of "leaky" and "points" gives back: "full", the default, or "undrained".
 * @property per "day", "week", "month", "quarter" or "year", of a quota.
 * @property timezone "UTC", the default, an offset such as "+05:30", or a name such as "Europe/Berlin".
 * @property starts where the periods of a quota start, such as "06:00", "sunday", "15" or "04-06".
 */
public data class Limit(
    val kind: String,
    val amount: Long? = null,
    val interval: Duration? = null,
    val label: String? = null,
    val offset: Duration? = null,
    val refund: String? = null,
    val per: String? = null,
    val timezone: String? = null,
    val starts: String? = null,
) {
    /** [interval] for Java. */
    @get:JvmName("getInterval")
    public val intervalJava: java.time.Duration?
        get() = interval?.toJavaDuration()

    /** Returns the limit with a label: 1 to 32 characters, a to z first, then also digits, _ and -. */
    public fun labeled(label: String): Limit = copy(label = label)

    internal val native: NativeLimit
        get() =
            NativeLimit(
                whole("kind", kind),
                whole("label", label),
                amount,
                interval?.also(::checkInterval)?.us,
                offset?.us,
                whole("refund", refund),
                whole("per", per),
                whole("timezone", timezone),
                whole("starts", starts),
            )

    /** A shorter one would be named as the zero to which it is rounded. */
    private fun checkInterval(interval: Duration) {
        if (interval.isPositive() && interval.us == 0L) {
            val argument = mapOf("leaky" to "drain", "points" to "refill", "concurrency" to "lockTimeout")[kind] ?: "interval"
            throw InvalidException(argument, "must be at least 1us: $argument=$interval")
        }
    }

    public companion object {
        /** So many units in each aligned interval. */
        public fun bucket(limit: Long, interval: Duration): Limit = Limit("bucket", limit, interval)

        /** So many units in any interval, exactly. */
        public fun window(limit: Long, interval: Duration): Limit = Limit("window", limit, interval)

        /** A burst of the capacity, which drains fully in the given time. */
        public fun leaky(capacity: Long, drain: Duration): Limit = Limit("leaky", capacity, drain)

        /** A budget of points that is full again after [refill], for costs that are estimated first. */
        public fun points(capacity: Long, refill: Duration): Limit = Limit("points", capacity, refill)

        /** Starts at least the interval apart. */
        public fun throttle(interval: Duration): Limit = Limit("throttle", 1, interval)

        /** See the form with a duration of Kotlin. */
        @JvmStatic
        public fun bucket(limit: Long, interval: java.time.Duration): Limit = bucket(limit, interval.toKotlinDuration())

        /** See the form with a duration of Kotlin. */
        @JvmStatic
        public fun window(limit: Long, interval: java.time.Duration): Limit = window(limit, interval.toKotlinDuration())

        /** See the form with a duration of Kotlin. */
        @JvmStatic public fun leaky(capacity: Long, drain: java.time.Duration): Limit = leaky(capacity, drain.toKotlinDuration())

        /** See the form with a duration of Kotlin. */
        @JvmStatic
        public fun points(capacity: Long, refill: java.time.Duration): Limit = points(capacity, refill.toKotlinDuration())

        /** See the form with a duration of Kotlin. */
        @JvmStatic public fun throttle(interval: java.time.Duration): Limit = throttle(interval.toKotlinDuration())

        /** So many leases at once. [LimiterOptions.lockTimeout] is how long one lasts. */
        @JvmStatic public fun concurrency(limit: Long): Limit = Limit("concurrency", limit)

        /** So many units in each "day", "week", "month", "quarter" or "year". */
        @JvmStatic public fun quota(limit: Long, per: String): Limit = Limit("quota", limit, per = per)

        internal fun of(it: NativeLimit): Limit =
            Limit(
                it.kind,
                it.amount,
                it.intervalUs?.duration,
                it.label,
                it.offsetUs?.duration,
                it.refund,
                it.per,
                it.timezone,
                it.starts,
            )
    }
}

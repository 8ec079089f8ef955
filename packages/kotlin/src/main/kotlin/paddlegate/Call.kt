package paddlegate

import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import paddlegate.internal.NativeRequest

/**
 * What a call takes, and how it waits. Every option has a default; in Java start with `new Call()` and chain the methods.
 *
 * @property cost the units to take, final; 0 only looks. The default is 1.
 * @property estimate the units to reserve, corrected later with [Permit.pointsUsed].
 * @property settleWithin how long the estimate can be corrected: 5 minutes, the default, to 7 days.
 * @property key the key of a keyed limiter, 1 to 512 bytes.
 * @property id names the call, 1 to 64 bytes: asked again, it takes nothing twice. The default is random.
 * @property priority the priority in the queue, from 0, the default, to 9.
 * @property share whose call it is, for fair shares of the queue.
 * @property weight the weight of the share, from 1, the default, to 1000.
 * @property waitTimeout how long the call waits; zero does not wait. The default is that of the limiter.
 * @property limits whether the decision has each limit.
 */
public data class Call(
    val cost: Charge? = null,
    val estimate: Charge? = null,
    val settleWithin: Duration? = null,
    val key: String? = null,
    val id: String? = null,
    val priority: Long? = null,
    val share: String? = null,
    val weight: Long? = null,
    val waitTimeout: Duration? = null,
    val limits: Boolean = false,
) {
    /** A call with the default of every option. */
    public constructor() : this(null)

    /** Sets [cost]. */
    public fun cost(units: Long): Call = copy(cost = Charge.of(units))

    /** Sets [cost]. */
    public fun cost(charge: Charge): Call = copy(cost = charge)

    /** Sets [estimate]. */
    public fun estimate(units: Long): Call = copy(estimate = Charge.of(units))

    /** Sets [estimate]. */
    public fun estimate(charge: Charge): Call = copy(estimate = charge)

    /** Sets [settleWithin]. */
    public fun settleWithin(time: java.time.Duration): Call = copy(settleWithin = time.toKotlinDuration())

    /** Sets [key]. */
    public fun key(key: String): Call = copy(key = key)

    /** Sets [id]. */
    public fun id(id: String): Call = copy(id = id)

    /** Sets [priority]. */
    public fun priority(priority: Long): Call = copy(priority = priority)

    /** Sets [share] and [weight]. */
    public fun share(share: String, weight: Long): Call = copy(share = share, weight = weight)

    /** Sets [waitTimeout]. */
    public fun waitTimeout(time: java.time.Duration): Call = copy(waitTimeout = time.toKotlinDuration())

    /** Sets [limits]. */
    public fun limits(limits: Boolean): Call = copy(limits = limits)

    /** Null where every option is the default. */
    internal val request: NativeRequest?
        get() =
            if (this == PLAIN) null
            else NativeRequest(cost?.native, estimate?.native, settleWithin?.us, priority, whole("share", share), weight, limits)

    /** Refuses the options that a verb does not use. */
    internal fun refuse(verb: String, vararg options: String) {
        if (this === PLAIN) return
        for (option in options) {
            val isGiven =
                when (option) {
                    "id" -> id != null
                    "priority" -> priority != null
                    "share" -> share != null
                    "weight" -> weight != null
                    "waitTimeout" -> waitTimeout != null
                    else -> limits
                }
            if (isGiven) throw InvalidException(option, "is no option of $verb")
        }
    }

    internal companion object {
        /** The options of calls that queue. */
        val OF_QUEUES = arrayOf("priority", "share", "weight")

        val PLAIN = Call(null)

        fun of(cost: Long?, estimate: Long?, key: String?, waitTimeout: Duration? = null): Call =
            if (cost == null && estimate == null && key == null && waitTimeout == null) PLAIN
            else Call(cost?.let(Charge::of), estimate?.let(Charge::of), key = key, waitTimeout = waitTimeout)
    }
}

package paddlegate

import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlinx.coroutines.delay
import paddlegate.internal.NativeAttributes
import paddlegate.internal.NativeGate

/**
 * The attributes of a request, for a [Gate]. One that is null matches no criterion.
 *
 * @property ip the address of the client without a port.
 */
public data class RequestAttributes
@JvmOverloads
constructor(
    val context: String? = null,
    val url: String? = null,
    val logOnCode: String? = null,
    val dataContainerId: String? = null,
    val ip: String? = null,
) {
    internal val native: NativeAttributes
        get() =
            NativeAttributes(
                whole("context", context),
                whole("url", url),
                whole("logOnCode", logOnCode),
                whole("dataContainerId", dataContainerId),
                whole("ip", ip),
            )
}

/**
 * The decision of a [Gate].
 *
 * @property level "second", "minute" or "hour": the level that refused, or the one with the longest delay.
 * @property reason why the request was refused; null when allowed.
 * @property delay the delay of the response, whether it succeeds or fails.
 * @property retryAfter the time until a refused request may pass; null when no time is known.
 * @property slot the name of the slot that applied; null when nothing limits the request.
 */
public data class GateDecision
internal constructor(
    val allowed: Boolean,
    val level: String?,
    val reason: String?,
    val delay: Duration,
    val retryAfter: Duration?,
    val slot: String?,
) {
    /** [delay] for Java. */
    @get:JvmName("getDelay")
    public val delayJava: java.time.Duration
        get() = delay.toJavaDuration()

    /** [retryAfter] for Java. */
    @get:JvmName("getRetryAfter")
    public val retryAfterJava: java.time.Duration?
        get() = retryAfter?.toJavaDuration()
}

/** The limits of an Invantive RateLimitControl in a store. All threads may use it. */
public class Gate internal constructor(private val store: Paddlegate, private val native: NativeGate) {
    /**
     * Counts a request in the slot of the first element that matches it. It never waits: the caller delays the response by the
     * delay. A refused request is not counted.
     */
    public fun admitBlocking(attributes: RequestAttributes): GateDecision {
        check(store.work)
        val it = store.away { native { native.admit(attributes.native) } }
        return GateDecision(it.allowed, it.level, it.reason, it.delayUs.duration, it.retryAfterUs?.duration, it.slot)
    }

    /** See [admitBlocking]. */
    @JvmSynthetic public suspend fun admit(attributes: RequestAttributes): GateDecision = store.io { admitBlocking(attributes) }

    /**
     * Admits a request, sleeps for its delay, and calls [body]. Over the limit it fails as [OverLimitException], after the delay
     * too, with the slot as its limiter.
     */
    @JvmSynthetic
    public suspend fun <T> withinLimit(attributes: RequestAttributes, body: suspend (GateDecision) -> T): T {
        val decision = admit(attributes)
        delay(decision.delay)
        if (!decision.allowed) throw OverLimitException(decision.slot.orEmpty(), decision.reason, decision.retryAfter, null)
        return body(decision)
    }
}

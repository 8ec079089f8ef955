package paddlegate

import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.toJavaDuration

/** The permit of a grant, for coroutines. With a concurrency limit it holds a lease, which ends with [release]. */
public class Permit
internal constructor(
    /** The permit for threads. */
    public val blocking: BlockingPermit
) {
    /** The decision that granted the permit. */
    public val decision: Decision
        get() = blocking.decision

    /**
     * The id with which any process can correct, extend, release and renew; null without an estimate or a concurrency limit. It
     * changes when an extension is granted.
     */
    public val id: String?
        get() = blocking.id

    /** A number that rises with every lease, so that a resource can reject late holders; null without a lease. */
    public val fencingToken: Long?
        get() = blocking.fencingToken

    /** For how long the lease lasts at least; null without a concurrency limit. */
    public val expiresIn: Duration?
        get() = blocking.expiresIn

    /** Whether the lease has ended while it was held, by what this process knows. It makes no call. */
    public val isLost: Boolean
        get() = blocking.isLost

    /** See [BlockingPermit.release]. */
    public suspend fun release(): Settlement = io { release() }

    /** See [BlockingPermit.renew]. */
    public suspend fun renew(): Boolean = io { renew() }

    /** See [BlockingPermit.pointsUsed]. */
    public suspend fun pointsUsed(units: Long): Settlement = io { pointsUsed(units) }

    /** See [BlockingPermit.correct]. */
    public suspend fun correct(actual: Charge): Settlement = io { correct(actual) }

    /** See [BlockingPermit.extend]. */
    public suspend fun extend(units: Charge): Extension = io { extend(units) }

    /** See [BlockingPermit.learnFromResponse]. */
    public suspend fun learnFromResponse(response: Response): Learned = io { learnFromResponse(response) }

    private suspend inline fun <T> io(crossinline call: BlockingPermit.() -> T): T = blocking.limiter.store.io { blocking.call() }
}

/** The permit of a grant, whose calls block their thread. All threads may use it. */
public class BlockingPermit
internal constructor(
    internal val limiter: BlockingLimiter,
    /** The decision that granted the permit. */
    public val decision: Decision,
    sentAt: Long,
    private val isEstimated: Boolean,
) : AutoCloseable {
    private val lock = ReentrantLock()
    // When the lease ends, by the clock of this process.
    private var endsAt: Long? = decision.lease?.let { sentAt + it.inWholeNanoseconds }
    private var released: Settlement? = null
    private var wasLost = false

    /** See [Permit.id]. */
    @Volatile
    public var id: String? = decision.permit
        private set

    /** See [Permit.fencingToken]. */
    public val fencingToken: Long?
        get() = decision.fencingToken

    /** See [Permit.expiresIn]. */
    public val expiresIn: Duration?
        get() = lock.withLock { endsAt?.let { maxOf((it - System.nanoTime()).nanoseconds, Duration.ZERO) } }

    /** [expiresIn] for Java. */
    @get:JvmName("getExpiresIn")
    public val expiresInJava: java.time.Duration?
        get() = expiresIn?.toJavaDuration()

    /** See [Permit.isLost]. */
    public val isLost: Boolean
        get() = lock.withLock {
            val ends = endsAt ?: return false
            wasLost || released == null && System.nanoTime() - ends >= 0
        }

    /**
     * Ends the lease: [Settlement.RELEASED], [Settlement.LATE] when it had ended before, or [Settlement.UNKNOWN] when there is no
     * such lease and without a concurrency limit. Later calls return the same.
     */
    public fun release(): Settlement = lock.withLock {
        val held = id
        if (endsAt == null || held == null) return Settlement.UNKNOWN
        released?.let {
            return it
        }
        val late = isLost
        val settlement = limiter.release(held)
        released = settlement
        wasLost = late || settlement != Settlement.RELEASED
        settlement
    }

    /** Restarts the duration of the lease. False when the lease has ended or was released, and without a concurrency limit. */
    public fun renew(): Boolean = lock.withLock {
        val held = id
        if (endsAt == null || held == null || released != null) return false
        val sentAt = System.nanoTime()
        val lease = limiter.renew(held)
        wasLost = lease == null
        if (lease != null) endsAt = sentAt + lease.inWholeNanoseconds
        lease != null
    }

    /** Replaces the estimate by the actual cost, once: see [correct]. */
    public fun pointsUsed(units: Long): Settlement = correct(Charge.of(units))

    /**
     * Replaces the estimate by the actual cost, once: [Settlement.SETTLED], or [Settlement.ALREADY], [Settlement.LATE] or
     * [Settlement.UNKNOWN], which change nothing. Invalid for a call without an estimate.
     */
    public fun correct(actual: Charge): Settlement = limiter.correct(estimated("corrected"), actual)

    /**
     * Reserves more units for this call, such as a stream that grows: all of them or nothing. After a grant [correct] compares
     * with the sum.
     */
    public fun extend(units: Charge): Extension = lock.withLock {
        val extension = limiter.extend(estimated("extended"), units)
        if (extension.allowed) extension.decision?.permit?.let { id = it }
        extension
    }

    /**
     * Applies the upstream's response to this call: see [Limiter.learnFromResponse]. The cost in the response settles the
     * estimate.
     */
    public fun learnFromResponse(response: Response): Learned = limiter.learnFromResponse(response.copy(permit = id))

    /** Releases the lease, if there is one. One that cannot be released ends after its lock time-out. */
    override fun close() {
        try {
            release()
        } catch (_: PaddlegateException) {
            return
        }
        if (isLost) LOG.log(System.Logger.Level.WARNING, "a lease ended before its body: limiter=${limiter.name} id=$id")
    }

    private fun estimated(done: String): String =
        id.takeIf { isEstimated } ?: throw InvalidException("estimate", "only a call with an estimate can be $done")

    private companion object {
        val LOG: System.Logger = System.getLogger("paddlegate")
    }
}

package paddlegate

import java.time.Instant
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import paddlegate.internal.NativeDecision
import paddlegate.internal.NativeDecisionLimit
import paddlegate.internal.decisionHeaders

/** The result of a call: [Granted], [Refused], [Queued] or [NoTicket]. */
public sealed class Decision(private val native: NativeDecision) {
    /** The call may go ahead: its cost is charged. */
    public class Granted internal constructor(native: NativeDecision) : Decision(native)

    /** The call may not go ahead. Nothing was charged. */
    public class Refused internal constructor(native: NativeDecision) : Decision(native)

    /** The call has a ticket in the queue. */
    public class Queued internal constructor(native: NativeDecision) : Decision(native)

    /** There is no ticket for the call: it was cancelled, has lapsed or was granted before. */
    public class NoTicket internal constructor(native: NativeDecision) : Decision(native)

    /** "granted", "refused", "queued" or "no_ticket". */
    public val status: String
        get() = native.status

    /** Whether the call was granted. */
    public val allowed: Boolean
        get() = this is Granted

    /** The size of the described limit, 1 for a throttle; null when no limit applies. */
    public val limit: Long?
        get() = native.limit

    /** The units that are left of it; null when no limit applies. */
    public val remaining: Long?
        get() = native.remaining

    /**
     * How long to wait before the next attempt: refused one microsecond earlier, granted at that time. Null when no time is
     * known.
     */
    public val retryAfter: Duration?
        get() = native.retryAfterUs?.duration

    /** [retryAfter] for Java. */
    @get:JvmName("getRetryAfter")
    public val retryAfterJava: java.time.Duration?
        get() = retryAfter?.toJavaDuration()

    /** Time until all units are available again, without further calls; null when no time is known. */
    public val resetAfter: Duration?
        get() = native.resetAfterUs?.duration

    /** [resetAfter] for Java. */
    @get:JvmName("getResetAfter")
    public val resetAfterJava: java.time.Duration?
        get() = resetAfter?.toJavaDuration()

    /**
     * Why the call was refused or queued: the kind of the limit, "paused", "blocked", "too_large", "running" or "unavailable".
     * Null for a grant.
     */
    public val reason: String?
        get() = native.reason

    /** Of a grant that only the mode "shadow" made: the [reason] of the refusal. Otherwise null. */
    public val wouldRefuse: String?
        get() = native.wouldRefuse

    /** The label of the described limit; null for a pause, and when no limit applies. */
    public val label: String?
        get() = native.label

    /** Of limiters that decide together, the name of the one that the numbers are of; otherwise null. */
    public val limiter: String?
        get() = native.limiter

    /** The time of the store; null when no store was called. */
    public val at: Instant?
        get() = native.atUs.someInstant

    /**
     * The id with which any process can correct or release the grant; null unless the call has an estimate or the limiter a limit
     * of concurrency.
     */
    public val permit: String?
        get() = native.permit

    /** How long the lease lasts; null without one. */
    public val lease: Duration?
        get() = native.leaseUs?.duration

    /** [lease] for Java. */
    @get:JvmName("getLease")
    public val leaseJava: java.time.Duration?
        get() = lease?.toJavaDuration()

    /** A number that rises with every lease, so that a resource can reject late holders; null without a lease. */
    public val fencingToken: Long?
        get() = native.fencingToken

    /** The number of the ticket; null without one. */
    public val ticket: Long?
        get() = native.ticket

    /** The number of tickets ahead; null without a ticket. */
    public val position: Long?
        get() = native.position

    /** Time until a queued call can be granted, if all tickets ahead are; null when unknown. */
    public val readyAfter: Duration?
        get() = native.readyAfterUs?.duration

    /** [readyAfter] for Java. */
    @get:JvmName("getReadyAfter")
    public val readyAfterJava: java.time.Duration?
        get() = readyAfter?.toJavaDuration()

    /** Whether the limiter has decided without its store: see [LimiterOptions.onUnavailable]. */
    public val degraded: Boolean
        get() = native.degraded

    /** Whether the estimate was above the capacity of a limit and was lowered to it. */
    public val isLowered: Boolean
        get() = native.isLowered

    /** Each limit in the order of the policy, for a call with [Call.limits]; otherwise empty. */
    public val limits: List<DecisionLimit>
        get() = native.limits.map(::DecisionLimit)

    /**
     * Returns the header fields that tell the caller of a server what this decision left: of all [limits] if the call asked for
     * them, otherwise of the tightest limit. A refusal has `Retry-After`, in whole seconds, if the time is known.
     *
     * [fields] is "draft", `RateLimit-Policy` and `RateLimit` of the newest draft of the IETF; "draft-6", `RateLimit-Limit`,
     * `RateLimit-Remaining`, `RateLimit-Reset` and `RateLimit-Policy` of the sixth; or "x", `X-RateLimit-Limit`,
     * `X-RateLimit-Remaining`, and `X-RateLimit-Reset` in seconds since 1970.
     */
    @JvmOverloads
    public fun headers(fields: String = "draft"): Map<String, String> = native {
        decisionHeaders(native, whole("fields", fields)!!)
    }
        .associate { (name, value) -> name to value }

    override fun toString(): String =
        "Decision(status=$status, limit=$limit, remaining=$remaining, retryAfter=$retryAfter, reason=$reason, label=$label)"

    override fun equals(other: Any?): Boolean = other is Decision && native == other.native

    override fun hashCode(): Int = native.hashCode()

    internal companion object {
        fun of(native: NativeDecision): Decision =
            when (native.status) {
                "granted" -> Granted(native)
                "refused" -> Refused(native)
                "queued" -> Queued(native)
                "no_ticket" -> NoTicket(native)
                else -> throw InternalException("no decision has this status: status=${native.status}")
            }
    }
}

/** One limit after a decision, by itself. */
public class DecisionLimit internal constructor(private val native: NativeDecisionLimit) {
    /** Of limiters that decide together, the name of the one that has the limit; otherwise null. */
    public val limiter: String?
        get() = native.limiter

    /** The label. */
    public val label: String
        get() = native.label

    /** The kind: "window", "bucket" and so on. */
    public val kind: String
        get() = native.kind

    /** The size of the limit, 1 for a throttle. */
    public val limit: Long
        get() = native.limit

    /** The interval, the time to drain or refill fully, how long a lease lasts, or the longest period of a quota. */
    public val interval: Duration
        get() = native.intervalUs.duration

    /** [interval] for Java. */
    @get:JvmName("getInterval")
    public val intervalJava: java.time.Duration
        get() = interval.toJavaDuration()

    /** The units that are left. */
    public val remaining: Long
        get() = native.remaining

    /** How long this limit holds the call up; zero when it does not, null when no time is known. */
    public val retryAfter: Duration?
        get() = native.retryAfterUs?.duration

    /** [retryAfter] for Java. */
    @get:JvmName("getRetryAfter")
    public val retryAfterJava: java.time.Duration?
        get() = retryAfter?.toJavaDuration()

    /** Time until all units are available again; null when no time is known. */
    public val resetAfter: Duration?
        get() = native.resetAfterUs?.duration

    /** [resetAfter] for Java. */
    @get:JvmName("getResetAfter")
    public val resetAfterJava: java.time.Duration?
        get() = resetAfter?.toJavaDuration()

    override fun toString(): String = "DecisionLimit(label=$label, limit=$limit, remaining=$remaining, retryAfter=$retryAfter)"
}

/** The settlement of a permit, a lease or a ticket. */
public enum class Settlement {
    /** The estimate was replaced by the actual cost. */
    SETTLED,

    /** The permit was settled before. */
    ALREADY,

    /** The permit or the lease has ended before. */
    LATE,

    /** There is no such permit, lease or ticket. */
    UNKNOWN,

    /** The lease has ended now. */
    RELEASED,

    /** The ticket was removed, or the lease that it had become. */
    CANCELLED;

    internal companion object {
        fun of(name: String): Settlement =
            entries.find { it.name.equals(name, ignoreCase = true) }
                ?: throw InternalException("no settlement has this name: settlement=$name")
    }
}

/** The result of an extension: a [decision], or the [settlement] of a permit that is not open. */
public class Extension internal constructor(public val decision: Decision?, public val settlement: Settlement?) {
    /** Whether the units are reserved. */
    public val allowed: Boolean
        get() = decision?.allowed == true
}

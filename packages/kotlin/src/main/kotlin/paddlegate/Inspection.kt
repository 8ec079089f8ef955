package paddlegate

import java.time.Instant
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import paddlegate.internal.NativeInspection
import paddlegate.internal.NativeLimit
import paddlegate.internal.NativeListed
import paddlegate.internal.NativePage
import paddlegate.internal.NativeRuntimeState
import paddlegate.internal.NativeTicket

/**
 * What a limiter contains.
 *
 * @property at the time of the store.
 * @property limits the limits of the policy, in its order.
 * @property pausedFor how long the pause lasts from now; null without one.
 * @property blockedFor how long the block lasts from now; null without one.
 * @property mode the mode that rules.
 * @property leases a page of the leases, the first to end first; [leaseCount] is the number of all.
 * @property tickets a page of the tickets, in the order of the queue; [ticketCount] is the number of all.
 */
public data class Inspection
internal constructor(
    val at: Instant?,
    val limits: List<InspectedLimit>,
    val pausedFor: Duration?,
    val blockedFor: Duration?,
    val mode: String,
    val leases: List<LeaseInfo>,
    val leaseCount: Long,
    val tickets: List<TicketInfo>,
    val ticketCount: Long,
) {
    internal companion object {
        fun of(it: NativeInspection): Inspection =
            Inspection(
                it.atUs.someInstant,
                it.limits.map { one ->
                    InspectedLimit(
                        one.label,
                        one.kind,
                        one.limit,
                        one.intervalUs.duration,
                        one.source,
                        one.taken,
                        one.remaining,
                        one.nextAfterUs?.duration,
                        one.resetAfterUs.duration,
                    )
                },
                it.pausedForUs?.duration,
                it.blockedForUs?.duration,
                it.mode,
                it.leases.map { one ->
                    LeaseInfo(one.id, one.heldForUs?.duration, one.endsInUs.duration, one.fencingToken)
                },
                it.leaseCount,
                it.tickets.map(TicketInfo::of),
                it.ticketCount,
            )
    }
}

/**
 * One limit of an [Inspection], by itself.
 *
 * @property source whose the numbers are: "policy", "override" or "learned".
 * @property taken the units, starts or leases that count now.
 * @property remaining those that are left.
 * @property nextAfter how long until this limit passes one more unit; null when it is unknown.
 */
public data class InspectedLimit
internal constructor(
    val label: String,
    val kind: String,
    val limit: Long,
    val interval: Duration,
    val source: String,
    val taken: Long,
    val remaining: Long,
    val nextAfter: Duration?,
    val resetAfter: Duration,
)

/**
 * One lease of an [Inspection].
 *
 * @property heldFor how long it has been held; null when the store no longer knows it.
 */
public data class LeaseInfo
internal constructor(val id: String, val heldFor: Duration?, val endsIn: Duration, val fencingToken: Long?)

/**
 * One ticket in a queue.
 *
 * @property waited how long ago it joined the queue.
 * @property ready whether its call may retry now.
 */
public data class TicketInfo
internal constructor(val id: String, val priority: Long, val share: String?, val waited: Duration, val ready: Boolean) {
    internal companion object {
        fun of(it: NativeTicket): TicketInfo = TicketInfo(it.id, it.priority, it.share, it.waitedUs.duration, it.ready)
    }
}

/**
 * The pause, the block, the overrides and the learned limits in force.
 *
 * @property version a number that rises with every change; 0 when nothing is in force.
 * @property inUse whether the store knew the limiter before this call.
 * @property pausedFor how long the pause lasts from now; null without one.
 * @property blockedFor how long the block lasts from now; null without one.
 * @property mode the override of the mode; null without one.
 * @property overrides the overrides by label.
 * @property expiresIn how long they last; null when they last until they are removed.
 * @property learned the limits that were learned from the upstream, by label.
 */
public data class RuntimeState
internal constructor(
    val version: Long,
    val inUse: Boolean,
    val pausedFor: Duration?,
    val blockedFor: Duration?,
    val mode: String?,
    val overrides: Map<String, Limit>,
    val expiresIn: Duration?,
    val learned: Map<String, Limit>,
) {
    /** [pausedFor] for Java. */
    @get:JvmName("getPausedFor")
    public val pausedForJava: java.time.Duration?
        get() = pausedFor?.toJavaDuration()

    /** [blockedFor] for Java. */
    @get:JvmName("getBlockedFor")
    public val blockedForJava: java.time.Duration?
        get() = blockedFor?.toJavaDuration()

    internal companion object {
        fun of(it: NativeRuntimeState): RuntimeState =
            RuntimeState(
                it.version,
                it.inUse,
                it.pausedForUs?.duration,
                it.blockedForUs?.duration,
                it.mode,
                byLabel(it.overrides),
                it.expiresInUs?.duration,
                byLabel(it.learned),
            )

        private fun byLabel(limits: List<NativeLimit>) = limits.map(Limit::of).associateBy { it.label!! }
    }
}

/**
 * One limiter that some process used lately, in any language.
 *
 * @property keyed whether it has a state for each key; all keys are one entry.
 * @property lastUsed the time of the last use, to the minute; null in memory.
 */
public data class LimiterInfo
internal constructor(
    val name: String,
    val group: String?,
    val keyed: Boolean,
    val mode: String,
    val limits: List<Limit>,
    val lastUsed: Instant?,
    val ttl: Duration,
) {
    internal companion object {
        fun of(it: NativeListed): LimiterInfo =
            LimiterInfo(
                it.name,
                it.group,
                it.keyed,
                it.mode,
                it.limits.map(Limit::of),
                it.lastUsedUs.someInstant,
                it.ttlUs.duration,
            )
    }
}

/** About 100 to 300 limiters, or the rest, and the [cursor] of the next page: null after the last one. */
public data class LimiterPage internal constructor(val limiters: List<LimiterInfo>, val cursor: String?) {
    internal companion object {
        fun of(it: NativePage): LimiterPage = LimiterPage(it.limiters.map(LimiterInfo::of), it.cursor)
    }
}

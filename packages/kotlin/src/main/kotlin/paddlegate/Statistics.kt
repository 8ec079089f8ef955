package paddlegate

import java.time.Instant
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import paddlegate.internal.NativeHistory
import paddlegate.internal.NativeHistoryEntry
import paddlegate.internal.NativeStatistics

/**
 * The counters of a limiter over all processes, and its current leases and tickets.
 *
 * @property granted granted calls.
 * @property refused refused calls, and waits that timed out.
 * @property waited the grants that waited in the queue.
 * @property waitTime for how long they waited together.
 * @property units charged units, after corrections.
 * @property corrections settled permits.
 * @property heldTime for how long released leases were held.
 * @property overages leases that their holder released after their end.
 * @property reclaimed leases that had ended without a release.
 * @property lapsed tickets that were not claimed in time.
 * @property leases the current leases.
 * @property tickets the current tickets.
 * @property shadowRefused calls that only the mode "shadow" let pass.
 * @property refusedBy the refused calls of each limit by its label.
 * @property waits the grants that waited by how long, in powers of two of a millisecond; the last from 2^20 ms on.
 * @property degraded calls that processes decided without the store, by `onUnavailable`; they count neither as granted nor as
 *   refused.
 * @property errors calls that failed because the store was unavailable.
 * @property nearLimit granted calls after which at most a fifth of a limit was left.
 * @property estimatedUnits the units that grants and extensions charged: [units] before corrections.
 * @property holds the released leases by how long they were held, in counts as those of [waits].
 */
public data class Statistics
internal constructor(
    val granted: Long,
    val refused: Long,
    val waited: Long,
    val waitTime: Duration,
    val units: Long,
    val corrections: Long,
    val heldTime: Duration,
    val overages: Long,
    val reclaimed: Long,
    val lapsed: Long,
    val leases: Long,
    val tickets: Long,
    val shadowRefused: Long,
    val refusedBy: Map<String, Long>,
    val waits: List<Long>,
    val degraded: Long,
    val errors: Long,
    val nearLimit: Long,
    val estimatedUnits: Long,
    val holds: List<Long>,
) {
    /** The grants that did not wait. */
    public val immediate: Long
        get() = granted - waited

    /** [waitTime] for Java. */
    @get:JvmName("getWaitTime")
    public val waitTimeJava: java.time.Duration
        get() = waitTime.toJavaDuration()

    /** [heldTime] for Java. */
    @get:JvmName("getHeldTime")
    public val heldTimeJava: java.time.Duration
        get() = heldTime.toJavaDuration()

    internal companion object {
        fun of(it: NativeStatistics): Statistics =
            Statistics(
                it.granted,
                it.refused,
                it.waited,
                it.waitTimeUs.duration,
                it.units,
                it.corrections,
                it.heldTimeUs.duration,
                it.overages,
                it.reclaimed,
                it.lapsed,
                it.leases,
                it.tickets,
                it.shadowRefused,
                it.refusedBy,
                it.waits,
                it.degraded,
                it.errors,
                it.nearLimit,
                it.estimatedUnits,
                it.holds,
            )
    }
}

/** What was counted in a minute or an hour, which begins at [start]. */
public data class HistoryEntry
internal constructor(val start: Instant, val granted: Long, val refused: Long, val waited: Long, val units: Long)

/** What was counted in each of the last 60 [minutes] and 48 [hours], the oldest first. */
public data class History internal constructor(val minutes: List<HistoryEntry>, val hours: List<HistoryEntry>) {
    internal companion object {
        fun of(it: NativeHistory): History = History(it.minutes.map(::entry), it.hours.map(::entry))

        private fun entry(it: NativeHistoryEntry) = HistoryEntry(it.startUs.instant, it.granted, it.refused, it.waited, it.units)
    }
}

package paddlegate

import java.time.Instant
import kotlin.time.Duration
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.Duration.Companion.nanoseconds
import paddlegate.internal.maxSpanUs

private val EPOCH = System.nanoTime()

/** Microseconds of a clock that no one sets. 0 means "at once" to a waiter, so it begins later. */
internal fun monotonic(): Long = 1 + (System.nanoTime() - EPOCH) / 1000

/** Microseconds, rounded. */
internal val Duration.us: Long
    get() =
        if (isInfinite()) inWholeMicroseconds
        else (this + if (isNegative()) (-500).nanoseconds else 500.nanoseconds).inWholeMicroseconds

/** Microseconds of a wait, of which an infinite one is the longest that there is. */
internal val Duration.waitUs: Long
    get() = if (this == Duration.INFINITE) maxSpanUs() else us

internal val Long.duration: Duration
    get() = microseconds

/** Microseconds since 1970; of a time that is too far away for that, the farthest, which the library refuses. */
internal val Instant.us: Long
    get() =
        try {
            Math.addExact(Math.multiplyExact(epochSecond, 1_000_000), nano / 1000L)
        } catch (_: ArithmeticException) {
            if (epochSecond < 0) Long.MIN_VALUE else Long.MAX_VALUE
        }

internal val Long.instant: Instant
    get() = Instant.ofEpochSecond(Math.floorDiv(this, 1_000_000L), Math.floorMod(this, 1_000_000L) * 1000)

/** A time of the store; null for 0, when no store was called. */
internal val Long.someInstant: Instant?
    get() = if (this == 0L) null else instant

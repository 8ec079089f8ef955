package paddlegate

import kotlin.time.Duration
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.toJavaDuration
import paddlegate.internal.NativeException

/**
 * A failure of a call, by what the caller can do about it.
 *
 * @property code the number of the kind, which is the same in all languages.
 * @property kind the name of the kind: "over_limit", "invalid", "unavailable", "data" or "internal".
 */
public sealed class PaddlegateException(message: String, public val code: Int, public val kind: String) :
    RuntimeException(message)

/**
 * A wait was refused or has timed out. Nothing was charged.
 *
 * @property limiter the name of the limiter; of several that decide together, of the one that refused.
 * @property reason why the call was refused: see [Decision.reason].
 * @property retryAfter when to come back; null when no time is known.
 * @property decision the decision that refused; null for a refusal of a [Gate].
 */
public class OverLimitException
internal constructor(
    public val limiter: String,
    public val reason: String?,
    public val retryAfter: Duration?,
    public val decision: Decision?,
) :
    PaddlegateException(
        "over the limit: limiter=$limiter reason=$reason retry_after=${retryAfter ?: "unknown"}",
        1,
        "over_limit",
    ) {
    /** [retryAfter] for Java. */
    @get:JvmName("getRetryAfter")
    public val retryAfterJava: java.time.Duration?
        get() = retryAfter?.toJavaDuration()
}

/**
 * A call is invalid. Nothing was changed.
 *
 * @property argument the name of the invalid argument; "store" for a call on a closed store.
 * @property reason what is wrong with it.
 */
public class InvalidException internal constructor(public val argument: String, public val reason: String) :
    PaddlegateException("$argument: $reason", 2, "invalid")

/**
 * The store cannot decide now.
 *
 * @property mayHaveCounted whether the call may have been charged nevertheless.
 */
public class UnavailableException internal constructor(message: String, public val mayHaveCounted: Boolean) :
    PaddlegateException(message, 3, "unavailable")

/** A stored value is damaged or was not written by this library: reset the limiter or use another database. */
public class DataException internal constructor(message: String) : PaddlegateException(message, 4, "data")

/** A defect of this library. */
public class InternalException internal constructor(message: String) : PaddlegateException(message, 5, "internal")

/** Makes a call of the library. [names] are arguments that the caller has written in another word. */
internal inline fun <T> native(vararg names: Pair<String, String>, call: () -> T): T =
    try {
        call()
    } catch (e: NativeException) {
        throw e.asPublic(*names)
    } catch (e: paddlegate.internal.InternalException) {
        throw InternalException(e.message ?: "the library has failed")
    }

internal fun NativeException.asPublic(vararg names: Pair<String, String>): PaddlegateException =
    when (this) {
        is NativeException.OverLimit -> InternalException(reason)
        is NativeException.Invalid -> {
            val spelled = inKotlin(argument)
            InvalidException(names.toMap()[spelled] ?: spelled, inDurations(reason))
        }
        is NativeException.Unavailable -> UnavailableException(reason, mayHaveCounted)
        is NativeException.Data -> DataException(reason)
        is NativeException.Internal -> InternalException(reason)
    }

internal fun closed(): InvalidException = InvalidException("store", "is closed")

private val UNDERSCORE = Regex("_([a-z])")
private val MICROS = Regex("""\b(\w+)_us=(-?\d+)""")

/** Returns an argument as a caller in Kotlin writes it. */
internal fun inKotlin(argument: String): String =
    if (argument == "for") "duration" else UNDERSCORE.replace(argument) { it.groupValues[1].uppercase() }

/** Shows the times in a message as Kotlin does. */
private fun inDurations(message: String): String =
    MICROS.replace(message) { found ->
        val (name, number) = found.destructured
        number.toLongOrNull()?.let { "${inKotlin(name)}=${it.microseconds}" } ?: found.value
    }

package paddlegate

import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** How much of a response is read for what it says about limits. */
internal const val MAX_BODY: Long = 1 shl 20

/** The priority of a request that is sent again, so that it keeps its place. */
internal const val URGENT: Long = 9

/** Whether a body of this content type may say something about limits. */
internal fun isJson(type: String?, subtype: String?): Boolean =
    type == "application" && (subtype == "json" || subtype.orEmpty().endsWith("+json"))

/** The header Retry-After of a refusal, in whole seconds rounded up; a minute where no time is known. */
internal val Decision.retryAfterHeader: String
    get() {
        val retry: Duration = retryAfter ?: 60.seconds
        return ((retry.inWholeMicroseconds + 999_999) / 1_000_000).toString()
    }

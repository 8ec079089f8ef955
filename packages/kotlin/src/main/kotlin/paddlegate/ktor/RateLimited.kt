package paddlegate.ktor

import io.ktor.client.call.HttpClientCall
import io.ktor.client.call.save
import io.ktor.client.plugins.api.ClientPlugin
import io.ktor.client.plugins.api.Send
import io.ktor.client.plugins.api.createClientPlugin
import io.ktor.client.request.HttpRequestBuilder
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import io.ktor.http.contentLength
import io.ktor.http.contentType
import io.ktor.util.toMap
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext
import paddlegate.Call
import paddlegate.Learned
import paddlegate.Limiter
import paddlegate.MAX_BODY
import paddlegate.OverLimitException
import paddlegate.PaddlegateException
import paddlegate.Permit
import paddlegate.Response
import paddlegate.URGENT
import paddlegate.isJson

/** The options of [RateLimited]. */
public class RateLimitedConfig internal constructor() {
    /** The limiter. */
    public lateinit var limiter: Limiter

    /** The options of the call for a request, such as its key or its estimate. */
    public var call: (HttpRequestBuilder) -> Call = { Call() }

    /** As in [Response.provider]. */
    public var provider: String? = null
}

/**
 * Keeps the requests of an HttpClient of ktor within a limiter: it acquires, sends, and learns from the response.
 *
 * A response with the status 429 that says when to come back pauses the limiter in all processes. Its request is sent once more
 * after the pause, before others that wait, if the wait is not too long; otherwise the caller gets the response. A lease is
 * released when the response has arrived; a JSON response of at most 1 MiB is read before that, to learn from it.
 */
public val RateLimited: ClientPlugin<RateLimitedConfig> =
    createClientPlugin("Paddlegate", ::RateLimitedConfig) {
        val config = pluginConfig

        suspend fun Send.Sender.send(request: HttpRequestBuilder, permit: Permit): Pair<HttpClientCall, Learned?> =
            try {
                val sent = proceed(request).readable()
                sent to learned(permit, sent, config.provider)
            } finally {
                withContext(NonCancellable) { runCatching { permit.release() } }
            }

        on(Send) { request ->
            val call = config.call(request)
            val (first, learned) = send(request, config.limiter.acquire(call))
            if (first.response.status != HttpStatusCode.TooManyRequests || learned?.pause == null) return@on first
            val again =
                try {
                    config.limiter.acquire(call.priority(URGENT))
                } catch (_: OverLimitException) {
                    return@on first
                }
            send(request, again).first
        }
    }

/** Returns the call with its body in memory, if that may say something about limits. */
private suspend fun HttpClientCall.readable(): HttpClientCall {
    val type = response.contentType()
    val length = response.contentLength()
    return if (isJson(type?.contentType, type?.contentSubtype) && length != null && length <= MAX_BODY) save() else this
}

private suspend fun learned(permit: Permit, call: HttpClientCall, provider: String?): Learned? {
    val response = call.response
    val type = response.contentType()
    val length = response.contentLength()
    val isRead = isJson(type?.contentType, type?.contentSubtype) && length != null && length <= MAX_BODY
    return try {
        val body = if (isRead) response.bodyAsText() else ""
        permit.learnFromResponse(Response(response.status.value, response.headers.toMap(), body, provider = provider))
    } catch (_: PaddlegateException) {
        // What cannot be learned from this response is learned from the next one.
        null
    }
}

package paddlegate.okhttp

import java.io.IOException
import java.io.InterruptedIOException
import java.util.function.Function
import okhttp3.Interceptor
import okhttp3.MediaType
import okhttp3.Request
import okhttp3.Response
import okhttp3.ResponseBody
import okio.BufferedSource
import okio.ForwardingSource
import okio.buffer
import paddlegate.BlockingLimiter
import paddlegate.BlockingPermit
import paddlegate.Call
import paddlegate.Learned
import paddlegate.MAX_BODY
import paddlegate.PaddlegateException
import paddlegate.URGENT
import paddlegate.isJson

/**
 * Keeps the requests of an OkHttpClient within a limiter: it acquires, sends, and learns from the response. It blocks the thread
 * of the request while it waits.
 *
 * A response with the status 429 that says when to come back pauses the limiter in all processes. Its request is sent once more
 * after the pause, before others that wait, if the wait is not too long and its body can be sent again; otherwise the caller gets
 * the response. A lease is released when the body of the response is closed. A request that is refused fails as an [IOException],
 * whose cause is the [PaddlegateException].
 *
 * [call] has the options of the call for a request, such as its key or its estimate. [provider] is as in
 * [paddlegate.Response.provider].
 */
public class RateLimitInterceptor
@JvmOverloads
constructor(
    private val limiter: BlockingLimiter,
    private val provider: String? = null,
    private val call: Function<Request, Call> = Function { Call() },
) : Interceptor {
    override fun intercept(chain: Interceptor.Chain): Response {
        val request = chain.request()
        val call = call.apply(request)
        val (response, learned) = send(chain, acquire(call))
        if (response.code != TOO_MANY_REQUESTS || learned?.pause == null || request.body?.isOneShot() == true) return response
        // The first lease would hold up the second, and the first connection the next request.
        val first =
            try {
                response.newBuilder().body(response.peekBody(MAX_BODY)).build()
            } catch (_: IOException) {
                // The caller finds the error when it reads the body.
                return response
            }
        response.close()
        val permit =
            try {
                acquire(call.priority(URGENT))
            } catch (_: IOException) {
                return first
            }
        return send(chain, permit).first
    }

    private fun acquire(call: Call): BlockingPermit =
        try {
            limiter.acquire(call)
        } catch (e: PaddlegateException) {
            throw IOException(e.message, e)
        } catch (e: InterruptedException) {
            Thread.currentThread().interrupt()
            throw InterruptedIOException(e.message)
        }

    private fun send(chain: Interceptor.Chain, permit: BlockingPermit): Pair<Response, Learned?> {
        val response =
            try {
                chain.proceed(chain.request())
            } catch (e: Throwable) {
                permit.close()
                throw e
            }
        // What cannot be learned from this response is learned from the next one.
        val learned =
            try {
                permit.learnFromResponse(
                    paddlegate.Response(response.code, response.headers.toMultimap(), read(response), provider = provider)
                )
            } catch (_: PaddlegateException) {
                null
            }
        if (permit.expiresIn == null) return response to learned
        return response.newBuilder().body(Held(response.body, permit)).build() to learned
    }

    private fun read(response: Response): String {
        val type = response.body.contentType()
        if (!isJson(type?.type, type?.subtype) || response.body.contentLength() > MAX_BODY) return ""
        return try {
            val body = response.peekBody(MAX_BODY + 1)
            // A longer one would be cut.
            if (body.contentLength() > MAX_BODY) "" else body.string()
        } catch (_: IOException) {
            // The caller finds the error when it reads the body.
            ""
        }
    }

    /** Releases a lease when it is closed. */
    private class Held(private val body: ResponseBody, private val permit: BlockingPermit) : ResponseBody() {
        private val source =
            object : ForwardingSource(body.source()) {
                    override fun close() {
                        permit.close()
                        super.close()
                    }
                }
                .buffer()

        override fun contentType(): MediaType? = body.contentType()

        override fun contentLength(): Long = body.contentLength()

        override fun source(): BufferedSource = source
    }

    private companion object {
        const val TOO_MANY_REQUESTS = 429
    }
}

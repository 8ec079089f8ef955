package paddlegate.servlet

import jakarta.servlet.AsyncEvent
import jakarta.servlet.AsyncListener
import jakarta.servlet.Filter
import jakarta.servlet.FilterChain
import jakarta.servlet.ServletRequest
import jakarta.servlet.ServletResponse
import jakarta.servlet.http.HttpServletRequest
import jakarta.servlet.http.HttpServletResponse
import java.util.function.Function
import paddlegate.BlockingLimiter
import paddlegate.Call
import paddlegate.PaddlegateException
import paddlegate.UnavailableException
import paddlegate.retryAfterHeader

/**
 * Keeps requests to a servlet within a limiter, without waiting: in Spring Boot a bean of this class is enough. A request over
 * the limit is answered with 429 and Retry-After, in whole seconds rounded up. A lease is released when the request has ended.
 *
 * [call] has the options of the call for a request, such as its key. While the store cannot decide the answer is 503, unless
 * [paddlegate.LimiterOptions.onUnavailable] says otherwise.
 */
public class RateLimitFilter
@JvmOverloads
constructor(private val limiter: BlockingLimiter, private val call: Function<HttpServletRequest, Call> = Function { Call() }) :
    Filter {
    override fun doFilter(request: ServletRequest, response: ServletResponse, chain: FilterChain) {
        if (request !is HttpServletRequest || response !is HttpServletResponse) return chain.doFilter(request, response)
        val call = call.apply(request)
        val decision =
            try {
                limiter.tryAcquire(call)
            } catch (e: UnavailableException) {
                return response.sendError(HttpServletResponse.SC_SERVICE_UNAVAILABLE)
            }
        if (!decision.allowed) {
            response.setHeader("Retry-After", decision.retryAfterHeader)
            return response.sendError(TOO_MANY_REQUESTS)
        }
        val lease = decision.permit.takeIf { decision.lease != null } ?: return chain.doFilter(request, response)
        val release = {
            try {
                (call.key?.let(limiter::withKey) ?: limiter).release(lease)
            } catch (_: PaddlegateException) {
                // A lease that cannot be released ends after its lock time-out.
            }
        }
        var isAsync = false
        try {
            chain.doFilter(request, response)
            isAsync = request.isAsyncStarted
            if (isAsync) request.asyncContext.addListener(Ended { release() })
        } finally {
            if (!isAsync) release()
        }
    }

    private class Ended(private val release: () -> Unit) : AsyncListener {
        override fun onComplete(event: AsyncEvent) = release()

        override fun onTimeout(event: AsyncEvent) = Unit

        override fun onError(event: AsyncEvent) = Unit

        override fun onStartAsync(event: AsyncEvent) = event.asyncContext.addListener(this)
    }

    private companion object {
        const val TOO_MANY_REQUESTS = 429
    }
}

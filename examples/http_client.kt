// Three clients of an API share its limit, five calls a second, and no call fails.
//
// Guide: docs/src/guides/http-429.md

import com.sun.net.httpserver.HttpExchange
import com.sun.net.httpserver.HttpServer
import java.net.InetSocketAddress
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse.BodyHandlers
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.future.await
import kotlinx.coroutines.launch
import paddlegate.Limiter
import paddlegate.Paddlegate
import paddlegate.Response

suspend fun main() {
    val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
    server.createContext("/", Api())
    server.start()
    try {
        Paddlegate().use { pg -> // PADDLEGATE_URL, or memory
            // A little longer than the second of the API, since requests take different times to it.
            val limiter = pg.window("api", 5, 1050.milliseconds) { waitTimeout = 30.seconds }
            limiter.reset()
            val url = URI("http://127.0.0.1:${server.address.port}/")
            coroutineScope { repeat(3) { launch { repeat(5) { get(limiter, url) } } } }
            val statistics = limiter.stats()
            println("${statistics.granted >= 15} ${statistics.waited > 0}")
        }
    } finally {
        server.stop(0)
    }
}

private val http = HttpClient.newHttpClient()

/** Makes a call. The API refuses it only when the machine stalls; then all clients pause, and it is made again. */
private suspend fun get(limiter: Limiter, url: URI) {
    var status: Int
    do {
        status = limiter.withinLimit { permit ->
            val response = http.sendAsync(HttpRequest.newBuilder(url).build(), BodyHandlers.ofString()).await()
            permit.learnFromResponse(Response(response.statusCode(), response.headers().map()))
            response.statusCode()
        }
    } while (status == 429)
    check(status == 200) { "status $status" }
}

/** Answers five requests in any second, and the others with 429. */
private class Api : com.sun.net.httpserver.HttpHandler {
    private val times = ArrayDeque<Long>()

    override fun handle(exchange: HttpExchange) {
        val now = System.nanoTime()
        while (times.isNotEmpty() && now - times.first() >= 1_000_000_000) times.removeFirst()
        val isTooMany = times.size >= 5
        if (isTooMany) exchange.responseHeaders.add("Retry-After", "1") else times.addLast(now)
        exchange.sendResponseHeaders(if (isTooMany) 429 else 200, -1)
        exchange.close()
    }
}

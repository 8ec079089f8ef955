package paddlegate

import com.sun.net.httpserver.HttpServer
import io.ktor.client.HttpClient
import io.ktor.client.engine.java.Java
import io.ktor.client.request.get
import io.ktor.client.statement.bodyAsText
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.ServerSocket
import java.net.URI
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicInteger
import java.util.function.Supplier
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.runBlocking
import okhttp3.OkHttpClient
import okhttp3.Request
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.springframework.boot.SpringBootConfiguration
import org.springframework.boot.autoconfigure.EnableAutoConfiguration
import org.springframework.boot.builder.SpringApplicationBuilder
import org.springframework.context.support.GenericApplicationContext
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.RestController
import paddlegate.ktor.RateLimited
import paddlegate.okhttp.RateLimitInterceptor
import paddlegate.servlet.RateLimitFilter

internal class HttpTest {
    /** A shop with budgets of points. It refuses its second request, for a moment. */
    private class Shop : AutoCloseable {
        val statuses = ConcurrentLinkedQueue<Int>()
        private val server = HttpServer.create(InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0)
        val url: String
            get() = "http://127.0.0.1:${server.address.port}/"

        init {
            val count = AtomicInteger()
            server.createContext("/") { exchange ->
                val refuses = count.incrementAndGet() == 2
                val body =
                    """{"extensions":{"cost":{"requestedQueryCost":100,"actualQueryCost":30,
                    "throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":900,"restoreRate":50.0}}}}"""
                exchange.responseHeaders.add("Content-Type", "application/json")
                if (refuses) exchange.responseHeaders.add("Retry-After", "1")
                val status = if (refuses) 429 else 200
                statuses += status
                exchange.sendResponseHeaders(status, body.length.toLong())
                exchange.responseBody.use { it.write(body.toByteArray()) }
            }
            server.executor = Executors.newCachedThreadPool { Thread(it).apply { isDaemon = true } }
            server.start()
        }

        override fun close() = server.stop(0)
    }

    private fun limiterOf(store: Paddlegate): Limiter {
        val limits = listOf(Limit.points(1000, 20.hours), Limit.concurrency(1))
        return store.limiter(unique(), limits) { waitTimeout = 1.minutes }
    }

    @Test
    fun `an interceptor of OkHttp acquires, learns and sends again`() = onBoth { store ->
        Shop().use { shop ->
            val limiter = limiterOf(store)
            val interceptor = RateLimitInterceptor(limiter.blocking, "shopify") { Call().estimate(100) }
            val client = OkHttpClient.Builder().addInterceptor(interceptor).build()
            fun get() = client.newCall(Request.Builder().url(shop.url).build()).execute()
            repeat(3) {
                get().use { response ->
                    assertEquals(200, response.code)
                    assertEquals(1, limiter.blocking.inspect().leaseCount, "held until the body is closed")
                    assertTrue("actualQueryCost" in response.body.string())
                }
                assertEquals(0, limiter.blocking.inspect().leaseCount)
            }
            assertEquals(listOf(200, 429, 200, 200), shop.statuses.toList())
            assertEquals(4, limiter.blocking.stats().corrections)
            limiter.blocking.pause(1.hours)
            val error = assertThrows(java.io.IOException::class.java) { get() }
            assertTrue(error.cause is OverLimitException, "$error")
        }
    }

    @Test
    fun `a response whose body breaks keeps no lease`() = onBoth { store ->
        for (status in listOf("200 OK", "429 Too Many Requests")) {
            val limiter = store.limiter(unique(), listOf(Limit.window(10, 1.hours), Limit.concurrency(1)))
            val client = OkHttpClient.Builder().addInterceptor(RateLimitInterceptor(limiter.blocking)).build()
            cut(status).use { server ->
                val request = Request.Builder().url("http://127.0.0.1:${server.localPort}/").build()
                client.newCall(request).execute().use { response ->
                    assertEquals(status.take(3).toInt(), response.code)
                    assertEquals(1, limiter.blocking.inspect().leaseCount, "held until the body is closed")
                    assertThrows(java.io.IOException::class.java) { response.body.string() }
                }
            }
            assertEquals(0, limiter.blocking.inspect().leaseCount)
        }
    }

    /** A server that announces a body of JSON and ends in it. */
    private fun cut(status: String): ServerSocket {
        val server = ServerSocket(0, 1, InetAddress.getLoopbackAddress())
        thread(isDaemon = true) {
            server.accept().use { client ->
                client.getInputStream().bufferedReader().lineSequence().takeWhile { it.isNotEmpty() }.forEach { _ -> }
                val head = "HTTP/1.1 $status\r\nContent-Type: application/json\r\nRetry-After: 1\r\nContent-Length: 100"
                client.getOutputStream().write("$head\r\n\r\n{\"cut\": \"o".toByteArray())
            }
        }
        return server
    }

    @Test
    fun `a plugin of ktor acquires, learns and sends again`() = onBoth { store ->
        Shop().use { shop ->
            val limiter = limiterOf(store)
            val client =
                HttpClient(Java) {
                    install(RateLimited) {
                        this.limiter = limiter
                        provider = "shopify"
                        call = { Call().estimate(100) }
                    }
                }
            runBlocking {
                client.use {
                    repeat(3) {
                        val response = client.get(shop.url)
                        assertEquals(200, response.status.value)
                        assertTrue("actualQueryCost" in response.bodyAsText())
                        assertEquals(0, limiter.inspect().leaseCount)
                    }
                    limiter.pause(1.hours)
                    assertTrue(runCatching { client.get(shop.url) }.exceptionOrNull() is OverLimitException)
                }
            }
            assertEquals(listOf(200, 429, 200, 200), shop.statuses.toList())
            assertEquals(4, limiter.blocking.stats().corrections)
        }
    }

    @Test
    fun `a filter in Spring Boot answers 429`() = onBoth { store ->
        val perUser = store.limiter(unique(), listOf(Limit.window(2, 1.hours), Limit.concurrency(5))) { keyed = true }.blocking
        val filter = RateLimitFilter(perUser) { Call().key(it.getHeader("X-User")) }
        SpringApplicationBuilder(Application::class.java)
            .initializers({ context ->
                (context as GenericApplicationContext).registerBean("limit", RateLimitFilter::class.java, Supplier { filter })
            })
            .properties("server.port=0", "server.address=127.0.0.1", "spring.main.banner-mode=off", "logging.level.root=warn")
            .run()
            .use { context ->
                val port = context.environment.getProperty("local.server.port")
                fun get(user: String): HttpResponse<String> {
                    val request = HttpRequest.newBuilder(URI("http://127.0.0.1:$port/")).header("X-User", user).build()
                    return java.net.http.HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString())
                }
                assertEquals(listOf(200, 200, 429), List(3) { get("ann").statusCode() })
                assertEquals(200 to "hello", get("bob").let { it.statusCode() to it.body() })
                val retry = get("ann").headers().firstValue("Retry-After").get().toLong()
                assertTrue(retry in 3000L..3600L, "$retry")
                eventually("the leases are released") { perUser.withKey("ann").inspect().leaseCount == 0L }
            }
    }

    @SpringBootConfiguration
    @EnableAutoConfiguration
    @RestController
    open class Application {
        @GetMapping("/") open fun hello(): String = "hello"
    }
}

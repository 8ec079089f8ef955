package paddlegate

import java.util.function.Consumer
import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import paddlegate.internal.NativeLoaded
import paddlegate.internal.NativeStore
import paddlegate.internal.callerKey as nativeCallerKey
import paddlegate.internal.defaultWaitTimeoutUs
import paddlegate.internal.graphqlCost as nativeGraphqlCost
import paddlegate.internal.plainKey as nativePlainKey
import paddlegate.internal.sendCounts
import paddlegate.internal.version as nativeVersion

/**
 * Where limiters count: the memory of this process, or a Redis that many processes share. All threads and coroutines may use it.
 *
 * The URL is redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path[?db=n] or memory://; more nodes of a
 * cluster may follow after commas. Without one it is that of the environment variable PADDLEGATE_URL, or memory. It makes no
 * connection; the first call of a limiter does.
 *
 * @param timeout the time within which every call returns or fails. The default is one second.
 * @param clock the clock of a test.
 */
public class Paddlegate(url: String? = null, timeout: Duration? = null, clock: TestClock? = null) : AutoCloseable {
    internal val native: NativeStore = native { NativeStore(whole("url", url), timeout?.us, clock?.native) }
    // A call that finds no place within half of the time-out fails, so that it ends within one and a half.
    internal val work: Work = Work((native.timeoutUs() ?: 0) / 2)
    private val hubs = HashMap<String, Hub>()

    /** Whether the limiters of the store count in this process alone. */
    public val inMemory: Boolean = native.isMemory()

    init {
        if (!inMemory) AtExit.register()
    }

    /** Creates a limiter of one to eight limits that are decided together. */
    public fun limiter(name: String, limits: List<Limit>, options: LimiterOptions.() -> Unit = {}): Limiter {
        val chosen = LimiterOptions().apply(options)
        check(work)
        val made = native { native.limiter(whole("name", name), limits.map(Limit::native), chosen.native) }
        return BlockingLimiter(
                this,
                made,
                Settings(name, chosen.wait, chosen.onLimit ?: "wait", isFallback(chosen.onUnavailable)),
            )
            .suspending
    }

    /** So many units in any interval, exactly. */
    public fun window(name: String, limit: Long, interval: Duration, options: LimiterOptions.() -> Unit = {}): Limiter =
        limiter(name, listOf(Limit.window(limit, interval)), options)

    /** So many units in each aligned interval. */
    public fun bucket(name: String, limit: Long, interval: Duration, options: LimiterOptions.() -> Unit = {}): Limiter =
        limiter(name, listOf(Limit.bucket(limit, interval)), options)

    /** A burst of the capacity, which drains fully in the given time. */
    public fun leaky(name: String, capacity: Long, drain: Duration, options: LimiterOptions.() -> Unit = {}): Limiter =
        limiter(name, listOf(Limit.leaky(capacity, drain)), options)

    /** A budget of points that is full again after [refill], for costs that are estimated first. */
    public fun points(name: String, capacity: Long, refill: Duration, options: LimiterOptions.() -> Unit = {}): Limiter =
        limiter(name, listOf(Limit.points(capacity, refill)), options)

    /** Starts at least the interval apart. */
    public fun throttle(name: String, interval: Duration, options: LimiterOptions.() -> Unit = {}): Limiter =
        limiter(name, listOf(Limit.throttle(interval)), options)

    /** So many leases at once. */
    public fun concurrent(name: String, limit: Long, options: LimiterOptions.() -> Unit = {}): Limiter =
        limiter(name, listOf(Limit.concurrency(limit)), options)

    /** So many units in each "day", "week", "month", "quarter" or "year". */
    public fun quota(name: String, limit: Long, per: String, options: LimiterOptions.() -> Unit = {}): Limiter =
        limiter(name, listOf(Limit.quota(limit, per)), options)

    /** A limiter that grants every call. */
    @JvmOverloads
    public fun unlimited(name: String, options: LimiterOptions.() -> Unit = {}): Limiter =
        limiter(name, listOf(Limit("unlimited")), options)

    /** A limiter that refuses every call. */
    @JvmOverloads
    public fun paused(name: String, options: LimiterOptions.() -> Unit = {}): Limiter =
        limiter(name, listOf(Limit("paused")), options)

    /** The forms for Java, whose limiters block. */
    @get:JvmName("blocking")
    public val blocking: BlockingPaddlegate
        get() = BlockingPaddlegate(this)

    /**
     * Creates a limiter of one to four limiters of this store that decide together: all are charged or none, in one call.
     *
     * Each keeps its own name, state, statistics and overrides, so the methods of one name are invalid here.
     */
    @JvmSynthetic
    public fun together(vararg limiters: Limiter, waitTimeout: Duration? = null): Limiter =
        together(limiters.toList(), waitTimeout)

    /** See the form with arguments. */
    @JvmSynthetic
    public fun together(limiters: List<Limiter>, waitTimeout: Duration? = null): Limiter {
        check(work)
        val made = native { native.together(limiters.map { it.blocking.native }) }
        val wait = checkedWait(waitTimeout) ?: defaultWaitTimeoutUs().duration
        val hasFallback = limiters.any { it.blocking.settings.hasFallback }
        val settings = Settings(limiters.joinToString(" + ") { it.name }, wait, "wait", hasFallback)
        return BlockingLimiter(this, made, settings).suspending
    }

    /**
     * Creates the limiters that a document defines, by name. The document is JSON, in the native format or that of another
     * system. An [InvalidException] has the JSON path of the fault, or the name of an option that the format does not have.
     * [onUnavailable] and [localSharePercent] are as in [LimiterOptions], for all of them.
     */
    @JvmSynthetic
    public fun load(
        document: String,
        lockTimeout: Duration? = null,
        tenant: String? = null,
        group: String? = null,
        onUnavailable: String? = null,
        localSharePercent: Long? = null,
    ): Map<String, Limiter> {
        check(work)
        val made = native {
            native.load(
                whole("document", document),
                lockTimeout?.us,
                whole("tenant", tenant),
                whole("group", group),
                whole("onUnavailable", onUnavailable),
                localSharePercent,
            )
        }
        return made.map { loaded(it, onUnavailable) }.associateBy(Limiter::name)
    }

    /**
     * Creates the limiter for a run of a Conductor workflow. [definition] is the definition of the workflow, and [run] the known
     * attributes of the run, both JSON. Runs with the same key share a limiter; a run without a key has an unlimited one.
     */
    @JvmSynthetic
    public fun conductorLimiter(
        definition: String,
        run: String,
        lockTimeout: Duration? = null,
        onUnavailable: String? = null,
        localSharePercent: Long? = null,
    ): Limiter {
        check(work)
        val made = native {
            native.conductorLimiter(
                whole("definition", definition),
                whole("run", run),
                lockTimeout?.us,
                whole("onUnavailable", onUnavailable),
                localSharePercent,
            )
        }
        return loaded(made, onUnavailable)
    }

    /** Creates the limits of an Invantive RateLimitControl, which is JSON. It contacts no server. */
    public fun invantiveGate(document: String): Gate {
        check(work)
        return Gate(this, native { native.invantiveGate(whole("document", document)) })
    }

    /** Returns the limiters whose names begin with the prefix, sorted by name, whatever language made them. */
    @JvmSynthetic public suspend fun limiters(prefix: String = ""): List<LimiterInfo> = io { blocking.limiters(prefix) }

    /**
     * Returns a page of these limiters. The [cursor] of the first page is null. Only the names of one page are sorted, and a name
     * may be on two pages.
     */
    @JvmSynthetic
    public suspend fun limiterPage(prefix: String = "", cursor: String? = null): LimiterPage = io {
        blocking.limiterPage(prefix, cursor)
    }

    /**
     * Closes the store and its connections. Calls that wait give their tickets back and fail, as does every later call of its
     * limiters; statistics are sent. A second call has no effect.
     */
    override fun close() {
        val waiting = synchronized(hubs) { hubs.values.toList() }
        work.close { waiting.forEach(Hub::interrupt) }
        native.closeConnections()
    }

    internal fun hubOf(node: String): Hub = synchronized(hubs) { hubs.getOrPut(node) { Hub(this) } }

    private fun loaded(it: NativeLoaded, onUnavailable: String?): Limiter {
        val wait = it.waitTimeoutUs ?: defaultWaitTimeoutUs()
        return BlockingLimiter(
                this,
                it.limiter,
                Settings(it.limiter.name(), wait.duration, it.onLimit, isFallback(onUnavailable)),
            )
            .suspending
    }

    public companion object {
        /** The version of the library inside. */
        @JvmStatic
        public val version: String
            get() = nativeVersion()

        /** Opens a store: see the constructor. */
        @JvmStatic
        @JvmOverloads
        public fun open(url: String? = null, timeout: java.time.Duration? = null, clock: TestClock? = null): Paddlegate =
            Paddlegate(url, timeout?.toKotlinDuration(), clock)

        /**
         * Returns the estimated cost of a GraphQL query in points, from 1, before it is sent. [variables] is a JSON object.
         * [operation] names one of several operations. [rules] is "shopify", the default, or "github".
         */
        @JvmStatic
        @JvmOverloads
        public fun graphqlCost(
            query: String,
            variables: String? = null,
            operation: String? = null,
            rules: String? = null,
        ): Long = native {
            nativeGraphqlCost(
                whole("query", query),
                whole("variables", variables),
                whole("operation", operation),
                whole("rules", rules),
            )
        }

        /**
         * Returns the key of a caller by the address of its connection, for a keyed limiter. An IPv4 address is itself, and of an
         * IPv6 address it is the network of [ipv6Prefix] bits, by default 64: `2001:db8:1:2::/64`. Ports, brackets and zones are
         * cut. What is no address is as in [plainKey]; a Unix socket has the address "" or null.
         *
         * [trustedProxies] are the proxies in front of this process: addresses, networks such as "10.0.0.0/8", and "unix" for one
         * that connects by a Unix socket. Behind one of them the caller is the last entry of [forwardedFor], the value of
         * `X-Forwarded-For`, that is no trusted proxy.
         *
         * Fails as [InvalidException] only for the last two arguments; every address gives a key.
         */
        @JvmStatic
        @JvmOverloads
        public fun callerKey(
            address: String?,
            forwardedFor: String? = null,
            trustedProxies: Collection<String> = emptyList(),
            ipv6Prefix: Int? = null,
        ): String = native {
            nativeCallerKey(
                address.orEmpty().toByteArray(),
                forwardedFor?.toByteArray(),
                trustedProxies.toList(),
                ipv6Prefix?.toLong(),
            )
        }

        /**
         * Returns the key for a text of a stranger, such as a header: the text itself if it is a key, which has 1 to 512 bytes of
         * UTF-8 without a zero byte, otherwise "sha256:" and its digest in hexadecimal.
         */
        @JvmStatic public fun plainKey(text: String): String = plainKey(text.toByteArray())

        /** The same for bytes. */
        @JvmStatic public fun plainKey(text: ByteArray): String = native { nativePlainKey(text) }
    }
}

private fun isFallback(onUnavailable: String?): Boolean = onUnavailable != null && onUnavailable != "raise"

/** Sends, when the process ends, what it has counted. */
private object AtExit {
    init {
        Runtime.getRuntime().addShutdownHook(Thread(::sendCounts, "paddlegate-exit"))
    }

    /** Does so once. */
    fun register() = Unit
}

/** The store with limiters that block, and the durations of Java. */
public class BlockingPaddlegate internal constructor(private val store: Paddlegate) {
    /** See [Paddlegate.limiter]. */
    @JvmOverloads
    public fun limiter(name: String, limits: List<Limit>, options: Consumer<LimiterOptions> = NONE): BlockingLimiter =
        store.limiter(name, limits) { options.accept(this) }.blocking

    /** See [Paddlegate.window]. */
    @JvmOverloads
    public fun window(
        name: String,
        limit: Long,
        interval: java.time.Duration,
        options: Consumer<LimiterOptions> = NONE,
    ): BlockingLimiter = limiter(name, listOf(Limit.window(limit, interval)), options)

    /** See [Paddlegate.bucket]. */
    @JvmOverloads
    public fun bucket(
        name: String,
        limit: Long,
        interval: java.time.Duration,
        options: Consumer<LimiterOptions> = NONE,
    ): BlockingLimiter = limiter(name, listOf(Limit.bucket(limit, interval)), options)

    /** See [Paddlegate.leaky]. */
    @JvmOverloads
    public fun leaky(
        name: String,
        capacity: Long,
        drain: java.time.Duration,
        options: Consumer<LimiterOptions> = NONE,
    ): BlockingLimiter = limiter(name, listOf(Limit.leaky(capacity, drain)), options)

    /** See [Paddlegate.points]. */
    @JvmOverloads
    public fun points(
        name: String,
        capacity: Long,
        refill: java.time.Duration,
        options: Consumer<LimiterOptions> = NONE,
    ): BlockingLimiter = limiter(name, listOf(Limit.points(capacity, refill)), options)

    /** See [Paddlegate.throttle]. */
    @JvmOverloads
    public fun throttle(name: String, interval: java.time.Duration, options: Consumer<LimiterOptions> = NONE): BlockingLimiter =
        limiter(name, listOf(Limit.throttle(interval)), options)

    /** See [Paddlegate.concurrent]. */
    @JvmOverloads
    public fun concurrent(name: String, limit: Long, options: Consumer<LimiterOptions> = NONE): BlockingLimiter =
        limiter(name, listOf(Limit.concurrency(limit)), options)

    /** See [Paddlegate.quota]. */
    @JvmOverloads
    public fun quota(name: String, limit: Long, per: String, options: Consumer<LimiterOptions> = NONE): BlockingLimiter =
        limiter(name, listOf(Limit.quota(limit, per)), options)

    /** See [Paddlegate.unlimited]. */
    @JvmOverloads
    public fun unlimited(name: String, options: Consumer<LimiterOptions> = NONE): BlockingLimiter =
        limiter(name, listOf(Limit("unlimited")), options)

    /** See [Paddlegate.paused]. */
    @JvmOverloads
    public fun paused(name: String, options: Consumer<LimiterOptions> = NONE): BlockingLimiter =
        limiter(name, listOf(Limit("paused")), options)

    /** See [Paddlegate.together]. */
    @JvmOverloads
    public fun together(limiters: List<BlockingLimiter>, waitTimeout: java.time.Duration? = null): BlockingLimiter =
        store.together(limiters.map { it.suspending }, waitTimeout?.toKotlinDuration()).blocking

    /** See [Paddlegate.load]. */
    @JvmOverloads
    public fun load(
        document: String,
        lockTimeout: java.time.Duration? = null,
        tenant: String? = null,
        group: String? = null,
        onUnavailable: String? = null,
        localSharePercent: Long? = null,
    ): Map<String, BlockingLimiter> =
        store.load(document, lockTimeout?.toKotlinDuration(), tenant, group, onUnavailable, localSharePercent).mapValues {
            it.value.blocking
        }

    /** See [Paddlegate.conductorLimiter]. */
    @JvmOverloads
    public fun conductorLimiter(
        definition: String,
        run: String,
        lockTimeout: java.time.Duration? = null,
        onUnavailable: String? = null,
        localSharePercent: Long? = null,
    ): BlockingLimiter =
        store.conductorLimiter(definition, run, lockTimeout?.toKotlinDuration(), onUnavailable, localSharePercent).blocking

    /** See [Paddlegate.limiters]. */
    @JvmOverloads
    public fun limiters(prefix: String = ""): List<LimiterInfo> {
        check(store.work)
        return store.away { native { store.native.limiters(whole("prefix", prefix)) } }.map(LimiterInfo::of)
    }

    /** See [Paddlegate.limiterPage]. */
    @JvmOverloads
    public fun limiterPage(prefix: String = "", cursor: String? = null): LimiterPage {
        check(store.work)
        val page = store.away { native { store.native.limiterPage(whole("prefix", prefix), whole("cursor", cursor)) } }
        return LimiterPage.of(page)
    }

    private companion object {
        val NONE = Consumer<LimiterOptions> {}
    }
}

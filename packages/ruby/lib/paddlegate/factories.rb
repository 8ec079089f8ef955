# frozen_string_literal: true

module Paddlegate
  # Creates limiters on a store: the methods of a {Store} on that store, those of {Paddlegate} on
  # the default store.
  #
  # An interval is a number of seconds (anything with `to_f`), one of `:second`, `:minute`, `:hour`,
  # `:day`, or an ISO 8601 duration such as `"PT0.1S"`. Creating a limiter contacts no server. A
  # factory of one limit returns the limiter that it returned before for the same arguments; a store
  # keeps 1,000 of them, so a program may keep its limiter or ask for it at each call. Invalid
  # arguments raise {InvalidError}. Every factory takes these `options`; `nil` stands for the
  # default:
  #
  # - `wait_timeout`: the maximum wait of {Limiter#within_limit} and {Limiter#acquire}, an interval;
  #   default 5 seconds, 0 does not wait.
  # - `on_limit`: the action of {Limiter#within_limit} over the limit. `:raise` (default) raises
  #   {OverLimit}; `:ignore` (or `:skip`) skips the block and returns {SKIPPED}.
  # - `ttl`: how long after its last use the limiter is listed and its statistics are kept, an
  #   interval; default 90 days.
  # - `group`: the group of the limiter, 1 to 512 bytes. In a cluster limiters that decide together
  #   ({#together}) need the same one. All processes must give a name the same group: with another
  #   one, or none, it has another state.
  # - `keyed`: `true` gives the limiter a state for each key: a limit per user, address or tenant.
  #   Every call then needs the `key:`, see {Limiter#with_key}; default `false`. A keyed limiter and
  #   one without keys of the same name have nothing in common.
  # - `statistics`: `false` keeps no statistics and no entry in {#limiters}, so that a server does
  #   less for each call; default `true`. The option is of this limiter: others of the name decide
  #   alike, whether they count or not.
  # - `mode`: `:enforce` (default), or `:shadow` for the roll-out of a limit: it decides and counts
  #   as ever but refuses nobody. A call that would be refused or would have to wait is granted at
  #   once and charges nothing; {Decision#would_refuse} is the reason, and {Statistics} count it as
  #   `shadow_refused`. A pause and a block that a command sets refuse as ever, and a cost that can
  #   never pass raises {InvalidError}. {Live#override} overrides the mode in all processes.
  # - `block_after`: `[refusals, within, for]`: after so many refusals (1 to 1,000,000) within a
  #   time every call is refused for a time, with the reason `:blocked`; both are intervals from one
  #   second to seven days. Of a keyed limiter it blocks a key. The refusals of all processes whose
  #   limiters have the rule count, but not those by a pause or during a block, nor waits that time
  #   out. {Live#resume} ends a block. Default: never.
  # - `aging`: an interval from one second to seven days, after each of which a call that waits gets
  #   the next higher priority, so that those of a higher one cannot hold it up for ever. It rises
  #   when it asks again. Default: never.
  # - `on_unavailable`: the behaviour while the store cannot decide. `:raise` (default) raises
  #   {UnavailableError}; `:fail_closed` refuses; `:fail_open` grants and never counts; `:local`
  #   decides in this process alone, with `local_share_percent` percent of every limit, from 1 to
  #   100, default 100. Such decisions are marked ({Decision#degraded?}) and never wait. After five
  #   consecutive failures only one call a second goes to the store, until one succeeds. In memory
  #   the option has no effect.
  module Factories
    # Creates a limiter of at most `limit` leases at once. A lease ends on release, or
    # `lock_timeout` (default 30 seconds) after its grant or its last renewal. A `limit` of 0 is a
    # pause.
    def concurrent(name, limit, lock_timeout: nil, **options, &block)
      make(name, [[:concurrency, limit, lock_timeout]], options, &block)
    end

    # Creates a limiter of at most `limit` units in each aligned interval. Intervals start at
    # multiples of `interval` since 1970 (UTC), or `offset` earlier.
    def bucket(name, limit, interval, offset = 0, **options, &block)
      make(name, [[:bucket, limit, interval, offset]], options, &block)
    end

    # Creates a limiter of at most `limit` units in any interval, exactly. `limit` is at most
    # 100,000.
    def window(name, limit, interval, **options, &block)
      make(name, [[:window, limit, interval]], options, &block)
    end

    # Creates a limiter with a burst of `capacity` units, which drains fully in `drain`. `refund` is
    # as for {#points}.
    def leaky(name, capacity, drain, refund: nil, **options, &block)
      make(name, [[:leaky, capacity, drain, refund]], options, &block)
    end

    # Creates a limiter with a budget of `capacity` points, full again after `refill`. Calls give an
    # estimate and may correct it.
    #
    # `refund` is what a correction to a lower cost gives back: `:full` (default), the whole
    # difference, or `:undrained`, at most what cannot have drained since the grant.
    def points(name, capacity, refill, refund: nil, **options, &block)
      make(name, [[:points, capacity, refill, refund]], options, &block)
    end

    # Creates a limiter of at most `limit` units, from 1 to 10^12, in each period of the calendar.
    # All units return when a period ends, by the clock of the store.
    #
    #   quota("tenant-7", 50_000_000, :month, timezone: "Europe/Berlin", starts: "15")
    #
    # `per`: `:day`, `:week`, `:month`, `:quarter` or `:year`. `timezone`: `"UTC"` (default), an
    # offset such as `"+05:30"`, or a name such as `"Europe/Berlin"`. `starts`: the start of the
    # periods in local time, by default midnight, Monday, or the first day. Of days it is a time
    # such as `"06:00"`, of weeks a day such as `"sunday"`, of months a day from `"1"` to `"31"` (in
    # a shorter month its last day), of quarters and years month and day such as `"04-06"`; or for
    # all of them a date at which one starts, such as `"2025-01-31"` or `"2025-01-31T09:30"`. Raises
    # {InvalidError} with the argument `limit`, `per`, `timezone` or `starts`.
    def quota(name, limit, per, timezone: nil, starts: nil, **options, &block)
      make(name, [[:quota, limit, per, timezone, starts]], options, &block)
    end

    # Creates a limiter of `limit` starts per `interval`, evenly spaced, whatever their cost. By
    # default starts are at least `interval` apart; three per second are at 0, 0.333334, 0.666667
    # and 1 seconds, and so on. `limit` is from 1 to one start per microsecond, at most 10^12.
    def throttle(name, interval, limit: 1, **options, &block)
      make(name, [[:throttle, limit, interval]], options, &block)
    end

    # Creates a limiter that grants every call. Accepts the arguments of any other factory, so that
    # a limit can be switched off by changing the method name.
    def unlimited(name = "unlimited", *_ignored, **options, &block)
      make(name, [[:unlimited]], options.slice(*OPTIONS), &block)
    end

    # Creates a limiter that refuses every call.
    def paused(name, **options, &block)
      make(name, [[:paused]], options, &block)
    end

    # Creates a limiter with several limits, all of which are charged or none. Each has a label, by
    # which decisions and overrides name it: the keyword of a {Limit}, otherwise the kind.
    # `lock_timeout` applies to a concurrency limit without its own. A throttle of several starts
    # has their number before the interval.
    #
    #   limiter("stripe", concurrency: 5, lock_timeout: 30, window: [100, 60], throttle: 0.1)
    #   limiter("sms", throttle: [3, :second])
    #   limiter("api", burst: Limit.window(10, :second), sustained: Limit.window(100, :minute))
    #
    # `limits`, in place of the keywords: a Hash of them, or a list of {Limit}s and of lists such as
    # `[:window, 10, :second]`, whose labels are their kinds. A label is 1 to 32 characters: a to z
    # first, then also digits, _ and -.
    def limiter(name, limits = nil, lock_timeout: nil, **keywords, &block)
      options = keywords.slice(*OPTIONS)
      by_label = keywords.except(*OPTIONS)
      unless limits.nil? || by_label.empty?
        raise InvalidError.new("give keywords, or a list or a mapping, not both", "limits")
      end

      limits = by_label if limits.nil?
      limits = with_lock_timeout(limits, lock_timeout) unless lock_timeout.nil?
      make(name, limits, options, &block)
    end

    # Creates a limiter of one to four limiters of this store that decide together: all are charged
    # or none, in one call. {Decision#limiter} names the one that the numbers are of.
    #
    #   both = together(org, user)
    #   both.within_limit { call }
    #
    # Each keeps its own name, state, statistics and overrides. The methods of one name raise
    # {InvalidError}: `stats`, `history`, `reset`, and those of {Live}. A call waits in the queue of
    # the first limiter that refuses it; while another then holds it up, it keeps its position there
    # and stops nobody behind it. A permit is for the same limiters in the same order.
    #
    # `wait_timeout` and `on_limit` are as for other factories. While the store cannot decide, the
    # strictest `on_unavailable` of the limiters applies, and `:local` refuses. In a cluster the
    # limiters need one `group`. A keyed limiter takes part with one key: `org.with_key("acme")`.
    def together(*limiters, wait_timeout: nil, on_limit: nil)
      Limiter.together(store, limiters, wait_timeout, on_limit)
    end

    # Creates the limiters of a document and returns them in a Hash by name. `document` is JSON, or
    # a Hash or Array parsed from it. {Limiter#on_limit} is the document's action for work over the
    # limit.
    #
    # `lock_timeout` (Open Job Spec and Conductor): how long a lease lasts. `tenant` (Open Job
    # Spec): the tenant of the job. `group` (guild-queues): the group, which has its own limit.
    # `on_unavailable` and `local_share_percent` apply to all limiters of the document.
    #
    # The message of an {InvalidError} contains the JSON path of a fault, such as `$.limits.erp`.
    def limiters_from_document(document, lock_timeout: nil, tenant: nil, group: nil,
                               on_unavailable: nil, local_share_percent: nil)
      text = Value.json("document", document)
      lock_timeout = Value.interval("lock_timeout", lock_timeout) unless lock_timeout.nil?
      tenant = Value.text("tenant", tenant) unless tenant.nil?
      group = Value.text("group", group) unless group.nil?
      Library.load(store.handle, text, lock_timeout, tenant, group).to_h do |loaded|
        [loaded.name, Limiter.from_document(store, loaded, on_unavailable, local_share_percent)]
      end
    end

    # Reads the file at `path` and creates its limiters, as {#limiters_from_document} does.
    def load(path, **options)
      document = File.read(path, encoding: "UTF-8")
      limiters_from_document(document, **options)
    end

    # Creates the {Gate} of an Invantive RateLimitControl. `document` is JSON, or a Hash or Array
    # parsed from it. The message of an {InvalidError} contains the JSON path of a fault.
    def invantive_gate(document)
      Gate.new(store, document)
    end

    # Creates the limiter for a run of a Conductor workflow, as {#limiters_from_document} does. Runs
    # with the same key share the limiter `conductor/workflow/KEY`. A run without a key gets an
    # unlimited limiter.
    #
    # `definition`: the definition of the workflow. `run`: the known values of the run, `input`,
    # `correlationId` and `version`. Both are JSON, or a Hash or Array parsed from it. A lease ends
    # on release, or `lock_timeout` (default 30 seconds) after its grant or its last renewal.
    def conductor_limiter(definition, run, lock_timeout: nil, on_unavailable: nil,
                          local_share_percent: nil)
      texts = [Value.json("definition", definition), Value.json("run", run)]
      lock_timeout = Value.interval("lock_timeout", lock_timeout) unless lock_timeout.nil?
      loaded = Library.conductor_limiter(store.handle, *texts, lock_timeout)
      Limiter.from_document(store, loaded, on_unavailable, local_share_percent)
    end

    # Returns the limiters that any process, in any language, used within their `ttl`: a list of
    # {LimiterInfo}, sorted by name. With a `prefix` only those whose names begin with it. For many
    # names read pages ({#limiter_page}).
    def limiters(prefix: nil)
      Library.limiters(store.handle, Value.word("prefix", prefix.nil? ? "" : prefix))
    end

    # Returns a {LimiterPage} of {#limiters}: about 100 to 300, or the rest.
    #
    #   cursor = nil
    #   loop do
    #     page = limiter_page(prefix: "shop-", cursor: cursor)
    #     page.limiters.each { |limiter| puts limiter.name }
    #     cursor = page.cursor or break
    #   end
    #
    # The first page has no `cursor`; the next page has that of the page before, and the last one
    # has none. Only the names of one page are sorted, and a name may be on two pages. In memory
    # there is one page. Another text raises {InvalidError}.
    def limiter_page(prefix: nil, cursor: nil)
      prefix = Value.word("prefix", prefix.nil? ? "" : prefix)
      cursor = Value.text("cursor", cursor) unless cursor.nil?
      Library.limiter_page(store.handle, prefix, cursor)
    end

    OPTIONS = %i[wait_timeout on_limit ttl group keyed statistics mode block_after aging
                 on_unavailable local_share_percent].freeze
    private_constant :OPTIONS

    private

    def make(name, limits, options)
      raise InvalidError.new("a limiter takes none here, use within_limit", "block") if block_given?

      unknown = options.keys - OPTIONS
      raise ArgumentError, "unknown keyword: #{unknown.first.inspect}" unless unknown.empty?

      Limiter.new(store, name, limits, **options)
    end

    # Sets the lock timeout of a concurrency limit that has none.
    def with_lock_timeout(limits, lock_timeout)
      limits = Policy.read(limits)
      unless limits.any? { |limit| limit.kind.to_s == "concurrency" }
        raise InvalidError.new("is for a limit of concurrency", "lock_timeout")
      end

      limits.map do |limit|
        amount, given, *surplus = limit.numbers
        next limit unless limit.kind.to_s == "concurrency" && given.nil?

        Limit.new(limit.kind, [amount, lock_timeout, *surplus], limit.label)
      end
    end
  end
end

# frozen_string_literal: true

module Paddlegate
  # Makes limiters on a store: in {Store} on that store, in {Paddlegate} on the default one.
  #
  # An interval is a number of seconds (anything with `to_f`), one of `:second`, `:minute`, `:hour`,
  # `:day`, or an ISO 8601 duration such as `"PT0.1S"`. A limiter is made once and kept; making one
  # asks no server. Wrong arguments raise {InvalidError}. Every factory takes these `options`, of
  # which `nil` is the default:
  #
  # - `wait_timeout`: for how long {Limiter#within_limit} and {Limiter#acquire} wait; 5 seconds by
  #   default, 0 does not wait.
  # - `policy`: what {Limiter#within_limit} does over the limit. `:raise` raises {OverLimit}, the
  #   default; `:ignore` (or `:skip`) skips the block and returns {SKIPPED}.
  # - `ttl`: for how long after its last use it is listed and its statistics are kept; 90 days by
  #   default.
  # - `on_unavailable`: what it answers while the store cannot decide. `:raise` raises
  #   {UnavailableError}, the default; `:closed` refuses; `:open` grants and never counts; `:local`
  #   decides by this process alone, with `share` percent of every limit, 1 to 100, 100 by default.
  #   Such answers are {Decision#degraded?} and never wait. After five failures in a row the store
  #   is asked once a second, until it answers. In memory there is nothing to fail.
  module Factories
    # At most `limit` at once. A lease lasts at most `lock_timeout` unless it is renewed, 30 seconds
    # by default. A `limit` of 0 is a pause.
    def concurrent(name, limit, lock_timeout: nil, **options, &block)
      make(name, [[:concurrency, limit, lock_timeout]], options, &block)
    end

    # At most `limit` in each interval that starts at a multiple of it since 1970 (UTC), or `offset`
    # earlier.
    def bucket(name, limit, interval, offset = 0, **options, &block)
      make(name, [[:bucket, limit, interval, offset]], options, &block)
    end

    # At most `limit` in any interval, exactly. `limit` is at most 100,000.
    def window(name, limit, interval, **options, &block)
      make(name, [[:window, limit, interval]], options, &block)
    end

    # A burst of `capacity`, which drains fully in `drain`.
    def leaky(name, capacity, drain, **options, &block)
      make(name, [[:leaky, capacity, drain]], options, &block)
    end

    # A budget of `capacity` points, full again after `refill`. Calls estimate and may correct.
    def points(name, capacity, refill, **options, &block)
      make(name, [[:points, capacity, refill]], options, &block)
    end

    # Starts at least `interval` apart, whatever they cost.
    def throttle(name, interval, **options, &block)
      make(name, [[:throttle, interval]], options, &block)
    end

    # Everything passes. Takes the arguments of any other factory, to switch that one off.
    def unlimited(name = "unlimited", *_ignored, **options, &block)
      make(name, [[:unlimited]], options.slice(*OPTIONS), &block)
    end

    # Nothing passes.
    def paused(name, **options, &block)
      make(name, [[:paused]], options, &block)
    end

    # Several limits as one: all are charged or none.
    #
    #   limiter("stripe", concurrency: 5, lock_timeout: 30, window: [100, 60], throttle: 0.1)
    #   limiter("stripe", [[:window, 10, :second], [:window, 100, :minute]])
    def limiter(name, limits = nil, lock_timeout: nil, **keywords, &block)
      options = keywords.slice(*OPTIONS)
      by_kind = keywords.except(*OPTIONS)
      unless limits.nil? || by_kind.empty?
        raise InvalidError.new("give a list or keywords, not both", "limits")
      end

      limits ||= by_kind.map { |kind, numbers| [kind, *numbers] }
      limits = with_lock_timeout(limits, lock_timeout) unless lock_timeout.nil?
      make(name, limits, options, &block)
    end

    # The limiters that a document defines, by name: JSON, or what that was parsed into. See
    # {Limiter#on_limit} for what becomes of work over the limit. `on_unavailable` and `share` are
    # for all of them.
    #
    # `lock_timeout` (Open Job Spec and Conductor) is how long a lease lasts, `tenant` (Open Job
    # Spec) whose job it is, `group` (guild-queues) what is limited by itself.
    #
    # The message of an {InvalidError} names the place of a fault, such as `$.limits.erp`.
    def limiters_from_document(document, lock_timeout: nil, tenant: nil, group: nil,
                               on_unavailable: nil, share: nil)
      text = Value.json("document", document)
      lock_timeout = Value.interval("lock_timeout", lock_timeout) unless lock_timeout.nil?
      tenant = Value.text("tenant", tenant) unless tenant.nil?
      group = Value.text("group", group) unless group.nil?
      Library.load(store.handle, text, lock_timeout, tenant, group).to_h do |loaded|
        [loaded.name, Limiter.from_document(store, loaded, on_unavailable, share)]
      end
    end

    # As {#limiters_from_document}, of the file at `path`.
    def load(path, **options)
      document = File.read(path, encoding: "UTF-8")
      limiters_from_document(document, **options)
    end

    # What a RateLimitControl of Invantive limits: a {Gate}. `document` is JSON, or what that was
    # parsed into. The message of an {InvalidError} names the place of a fault.
    def invantive_gate(document)
      Gate.new(store, document)
    end

    # The limiter of a run of a Conductor workflow, as {#limiters_from_document} gives one: runs
    # with one key share it, and its name is `conductor/workflow/` and the key. A run without a key
    # has one that is unlimited.
    #
    # `definition` is that of the workflow, and `run` what is known of the run: `input`,
    # `correlationId` and `version`; both JSON, or what that was parsed into. A lease lasts at most
    # `lock_timeout` unless it is renewed, 30 seconds by default.
    def conductor_limiter(definition, run, lock_timeout: nil, on_unavailable: nil, share: nil)
      texts = [Value.json("definition", definition), Value.json("run", run)]
      lock_timeout = Value.interval("lock_timeout", lock_timeout) unless lock_timeout.nil?
      loaded = Library.conductor_limiter(store.handle, *texts, lock_timeout)
      Limiter.from_document(store, loaded, on_unavailable, share)
    end

    # The limiters that any process has used lately, whatever its language: a list of {LimiterInfo},
    # by name.
    def limiters
      Library.limiters(store.handle)
    end

    OPTIONS = %i[wait_timeout policy ttl on_unavailable share].freeze
    private_constant :OPTIONS

    private

    def make(name, limits, options)
      raise InvalidError.new("a limiter takes none here, use within_limit", "block") if block_given?

      unknown = options.keys - OPTIONS
      raise ArgumentError, "unknown keyword: #{unknown.first.inspect}" unless unknown.empty?

      Limiter.new(store, name, limits, **options)
    end

    # Where a limit of concurrency says nothing itself.
    def with_lock_timeout(limits, lock_timeout)
      unless limits.is_a?(Array) && limits.any? { |kind, *| kind&.to_s == "concurrency" }
        raise InvalidError.new("is for a limit of concurrency", "lock_timeout")
      end

      limits.map do |numbers|
        kind, limit, given, *surplus = numbers
        next numbers unless kind.to_s == "concurrency" && given.nil?

        [kind, limit, lock_timeout, *surplus]
      end
    end
  end
end

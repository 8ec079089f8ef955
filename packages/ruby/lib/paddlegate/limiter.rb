# frozen_string_literal: true

module Paddlegate
  # A name and a policy on a store. Safe to share between threads and to keep over `fork`.
  #
  # `cost` is what a call takes, 1 by default; 0 looks without taking. `estimate` is what it takes
  # until the actual cost is known. A limiter with points needs one of the two. `id` is the name of
  # a call, 1 to 64 bytes, by default one that nobody else has: asking again with the id of a lease
  # takes no second one. `at_us` is the time of the call in microseconds since 1970, for tests; by
  # default the store asks its own clock.
  #
  # Every method may raise {InvalidError} (fix the call), {UnavailableError} (the store cannot
  # decide; see `on_unavailable` of {Factories}), {DataError} or {InternalError}.
  class Limiter
    include Jobs
    include Live

    # What may become of a block that is over the limit, and whether it is skipped.
    POLICIES = { "raise" => false, "ignore" => true, "skip" => true }.freeze

    # What the core calls the argument `used`.
    COST = /\b(?:a )?cost\b/
    private_constant :POLICIES, :COST

    # The name it was made with.
    attr_reader :name

    # For how many seconds {#within_limit} and {#acquire} wait by default.
    attr_reader :wait_timeout

    # What is to become of work over the limit: `:raise` or `:ignore`, and of a limiter that was
    # loaded from a document also `:wait`, `:reschedule` or `:drop`, which here raise.
    attr_reader :on_limit

    # @api private
    # Made by {Factories}.
    def initialize(store, name, limits, wait_timeout: nil, policy: nil, ttl: nil,
                   on_unavailable: nil, share: nil)
      @name = Value.word("name", name).freeze
      @wait_timeout =
        wait_timeout.nil? ? Library::WAIT_TIMEOUT : Value.wait_timeout(wait_timeout)
      policy = :raise if policy.nil?
      @skips = POLICIES.fetch(policy.is_a?(Symbol) ? policy.name : policy) do
        Value.reject("must be :raise or :ignore", "policy", policy)
      end
      @on_limit = @skips ? :ignore : :raise
      ttl = Value.interval("ttl", ttl) unless ttl.nil?
      handle = Library.make_limiter(store.handle, @name, Policy.pack(limits), ttl)
      attach(store, Library.with_on_unavailable(handle, on_unavailable, share))
    end

    # @api private
    # One that the library has made from a document; of a {Loaded}.
    def self.from_document(store, loaded, on_unavailable, share)
      loaded.handle = Library.with_on_unavailable(loaded.handle, on_unavailable, share)
      allocate.tap { |limiter| limiter.send(:initialize_loaded, store, loaded) }
    end

    # Runs the block within the limit and returns its value; the block gets the {Permit}.
    #
    # Waits like {#acquire}, or raises {OverLimit}; with `policy: :ignore` it skips the block and
    # returns {SKIPPED}. `used` is another word for `cost`. A lease ends with the block, however
    # that ends; what else was taken stays taken. A lease that ended sooner is warned of.
    def within_limit(cost: nil, estimate: nil, used: nil, wait_timeout: nil, id: nil)
      raise InvalidError.new("give one; without one, use acquire", "block") unless block_given?
      unless cost.nil? || used.nil?
        raise InvalidError.new("is another word for cost, give one of them", "used")
      end

      waiter = Waiter.new(self, id, cost.nil? ? used : cost, estimate, wait_timeout)
      begin
        permit = waiter.acquire
      rescue OverLimit
        raise unless @skips

        return SKIPPED
      rescue InvalidError => e
        raise e if used.nil?

        raise InvalidError.new(e.reason.gsub(COST, "used"), e.argument.sub(COST, "used"))
      end
      yield permit
    ensure
      permit ? permit.release_after_block : waiter&.cancel
    end

    # Takes a {Permit}, waiting in turn for it up to `wait_timeout`, an interval; 0 does not wait.
    #
    # Whoever came first, in whatever process, is first. Raises {OverLimit} when the time is up, or
    # at once when it is known not to be enough. A wait that is ended from outside (`Timeout`,
    # `Thread#kill`, a signal) leaves nothing behind; but what a first call took under an `id` of
    # yours, without an answer, stays until it is cancelled or ends by itself.
    def acquire(cost: nil, estimate: nil, wait_timeout: nil, id: nil)
      waiter = Waiter.new(self, id, cost, estimate, wait_timeout)
      permit = waiter.acquire
    ensure
      waiter&.cancel unless permit
    end

    # Takes the cost if every limit allows it and nobody waits before, else nothing. A {Decision};
    # never waits, never raises because of a refusal. A call that is ended from outside gives back
    # its lease, as {#acquire}.
    def try_acquire(cost: nil, estimate: nil, id: nil, at_us: nil)
      return acquire_with_id(Value.text("id", id), cost, estimate, at_us, nil) unless id.nil?
      return try_acquire_lease(cost, estimate, at_us) if @leases

      buffer = CallBuffer.checkout
      buffer.check(call_acquire(buffer, cost, estimate, at_us))
      read_decision(buffer)
    end

    # As {#try_acquire}: whether the call may go ahead. {InvalidError} with a limit of concurrency,
    # whose lease nobody could release: use {#within_limit} or {#try_acquire}.
    def allow?(cost: nil, estimate: nil, at_us: nil)
      Library.check_allow(@handle) if @leases
      buffer = CallBuffer.checkout
      buffer.check(call_acquire(buffer, cost, estimate, at_us))
      allowed = buffer.decision.get_int32(0) == Decision::GRANTED
      buffer.checkin
      allowed
    end

    # What {#try_acquire} would answer now. Changes nothing.
    def peek(cost: nil, estimate: nil, at_us: nil)
      buffer = CallBuffer.checkout
      request = buffer.request(cost, estimate, at_us)
      buffer.check(@functions.peek(@handle, request, buffer.decision, buffer.error))
      read_decision(buffer)
    end

    # Forgets all that was taken, all permits, leases and tickets, and the statistics.
    def reset
      buffer = CallBuffer.checkout
      buffer.check(@functions.reset(@handle, buffer.error))
      buffer.checkin
      nil
    end

    # Replaces the estimate of a permit by what the call did cost. Only `:settled` changes anything.
    # `permit` is the {Permit} or its id, also of {#release} and {#renew}.
    #
    # `:already`: it was settled before. `:late`: the permit is older than five minutes, the
    # estimate stands. `:unknown`: never given, reset since, or forgotten.
    def correct(permit, actual, at_us: nil)
      id = Value.permit(permit)
      actual = Value.whole("actual", actual)
      settlement(at_us) { |at, *outputs| @functions.correct_at(@handle, id, actual, at, *outputs) }
    end

    # Ends the lease of a permit, from any process: `:released`.
    #
    # `:late`: it had ended before, and another may have its place. `:unknown`: it is not here, or
    # there is no limit of concurrency.
    def release(permit, at_us: nil)
      id = Value.permit(permit)
      settlement(at_us) { |at, *outputs| @functions.release(@handle, id, at, *outputs) }
    end

    # Gives the lease of a permit its whole time again, from any process: the seconds (Float) that
    # it lasts from now; `nil` when it has ended.
    def renew(permit, at_us: nil)
      id = Value.permit(permit)
      buffer = CallBuffer.checkout
      at = buffer.time(at_us)
      buffer.check(@functions.renew(@handle, id, at, buffer.result, buffer.error))
      lease = buffer.result.get_int64(0)
      buffer.checkin
      lease / 1_000_000.0 unless lease == -1
    end

    # What all processes did with this limiter, and who is there now: {Statistics}.
    def stats(at_us: nil)
      buffer = CallBuffer.checkout
      numbers = buffer.decision
      at = buffer.time(at_us)
      buffer.check(@functions.stats(@handle, at, numbers, buffer.error))
      statistics = Statistics.of(numbers.get_array_of_int64(0, Statistics.members.size))
      buffer.checkin
      statistics
    end

    def inspect
      "#<#{self.class} name=#{name.inspect}>"
    end

    # @api private
    # One call under an id; `wait` as in {Exchange#wait}, or `nil`.
    def acquire_with_id(id, cost, estimate, at_us, wait)
      buffer = CallBuffer.checkout
      request = buffer.request(cost, estimate, at_us)
      wait &&= buffer.wait(*wait)
      buffer.check(@functions.acquire_with_id(@handle, request, id, wait, buffer.decision,
                                              buffer.error))
      read_decision(buffer)
    end

    # @api private
    def hubs
      @store.hubs
    end

    # @api private
    def notification_node
      Library.notification_node(@handle)
    end

    # @api private
    # What a refused wait raises.
    def over_limit(decision)
      OverLimit.new(@name, decision)
    end

    # @api private
    def listen
      Library.listen(@handle)
    end

    private

    def initialize_loaded(store, loaded)
      @name = loaded.name
      @wait_timeout = loaded.wait_timeout || Library::WAIT_TIMEOUT
      @on_limit = @jobs_on_limit = loaded.on_limit
      @skips = on_limit == :ignore
      attach(store, loaded.handle)
    end

    def attach(store, handle)
      @functions = store.memory? ? Native::Memory : Native::Server
      # Kept, as a store that is forgotten is closed.
      @store = store
      @handle = handle
      @leases = Library.leases?(handle)
    end

    # Under an id of its own, by which a lease can be given back that was granted when the call had
    # been ended from outside, or had no answer.
    def try_acquire_lease(cost, estimate, at_us)
      id = Library.new_id
      may_hold = true
      decision = acquire_with_id(id, cost, estimate, at_us, nil)
    rescue Error => e
      unanswered = true
      may_hold = e.is_a?(UnavailableError) && e.may_have_counted?
      raise
    ensure
      Cleanup.cancel(self, id, at_us: at_us, wait: !unanswered) if may_hold && decision.nil?
    end

    def call_acquire(buffer, cost, estimate, at_us)
      request = buffer.request(cost, estimate, at_us)
      @functions.acquire(@handle, request, buffer.decision, buffer.error)
    end

    def read_decision(buffer)
      decision = Decision.new(buffer.decision.get_bytes(0, Decision::SIZE))
      buffer.checkin
      decision
    end

    def settlement(at_us)
      buffer = CallBuffer.checkout
      buffer.check(yield(buffer.time(at_us), buffer.result, buffer.error))
      settlement = Library::SETTLEMENTS[buffer.result.get_int32(0)]
      buffer.checkin
      settlement
    end

    def cancel_ticket(id, gave_up, at_us)
      settlement(at_us) { |at, *outputs| @functions.cancel(@handle, id, gave_up, at, *outputs) }
    end
  end
end

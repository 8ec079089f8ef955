# frozen_string_literal: true

module Paddlegate
  # A named policy on a store. Safe to share between threads and to keep over `fork`.
  #
  # `cost` is the number of units that a call takes, default 1; 0 checks without taking. `estimate`
  # is the number of units to take until the actual cost is known. A limiter with a points limit
  # needs one of the two. `settle_within` is how long after its grant an estimate can be settled, an
  # interval from 5 minutes (default) to 7 days, for calls that last for hours. `id` names a call, 1
  # to 64 bytes, by default a new unique id: a repeated call with the id of a lease takes no second
  # lease.
  #
  # A number counts for every limit that counts units. A Hash from labels to numbers gives each
  # limit its own, as in `cost: { tpm: 900 }`: a limit that it does not name counts one, the call,
  # but a points limit must be named. Concurrency and throttle count calls and may not be named.
  # For limiters that decide together ({Factories#together}) a key may be the name of one, and its
  # value a number or a Hash from labels: `cost: { "openai:gpt-5" => { tpm: 900 }, "team" => 3 }`.
  #
  # `priority`, `share` and `weight` order the calls that wait in the queue. `priority` is from 0
  # (default) to 9: higher first. `share` says whose call it is, such as a tenant, 1 to 128 bytes
  # (default: nobody's): among the calls of one priority the shares take turns by what their calls
  # cost, whatever the number of their calls. A share of `weight` 2 (from 1 to 1000, default 1) gets
  # twice as much as one of weight 1; a weight needs a share. With one share and one priority the
  # queue is first come, first served.
  #
  # `key` names the state that a call is of, for a keyed limiter (`keyed: true`), which needs it in
  # every method but {#stats} and {#history}: `allow?(key: "ann")` is `with_key("ann").allow?`.
  #
  # Every method may raise {InvalidError} (fix the call), {UnavailableError} (the store cannot
  # decide; see `on_unavailable` of {Factories}), {DataError} or {InternalError}.
  class Limiter
    include Jobs
    include Live

    # The values of `on_limit:`, and whether {#within_limit} skips the block over the limit.
    ACTIONS = { "raise" => false, "ignore" => true, "skip" => true }.freeze

    # The core's name of the argument `used` in its messages.
    COST = /\b(?:a )?cost\b/
    private_constant :ACTIONS, :COST

    # The name of the limiter; for limiters that decide together the names with " + " between.
    attr_reader :name

    # The group of the limiter; `nil` without one.
    attr_reader :group

    # The key that was given to {#with_key}; otherwise `nil`.
    attr_reader :key

    # @api private
    attr_reader :handle

    # The default maximum wait of {#within_limit} and {#acquire}, in seconds.
    attr_reader :wait_timeout

    # The action for work over the limit: `:raise` or `:ignore`; for a limiter that was loaded from
    # a document also `:wait`, `:reschedule` or `:drop`, for which {#within_limit} raises.
    attr_reader :on_limit

    # @api private
    # Called by {Factories}.
    def initialize(store, name, limits, wait_timeout: nil, on_limit: nil, ttl: nil, group: nil,
                   keyed: nil, statistics: nil, mode: nil, block_after: nil, aging: nil,
                   on_unavailable: nil, local_share_percent: nil)
      @name = Value.word("name", name).freeze
      @group = Value.word("group", group).freeze unless group.nil?
      keep_options(wait_timeout, on_limit)
      ttl = Value.interval("ttl", ttl) unless ttl.nil?
      keyed = Value.switch("keyed", keyed, false)
      statistics = Value.switch("statistics", statistics, true)
      handle = Library.make_limiter(store.handle, @name, limits, ttl)
      handle = Library.with_group(handle, @group)
      handle = Library.keyed(handle) if keyed
      handle = Library.without_statistics(handle) unless statistics
      handle = Library.with_mode(handle, Value.word("mode", mode)) unless mode.nil?
      unless block_after.nil?
        handle = Library.with_block_after(handle, *Value.block_after(block_after))
      end
      handle = Library.with_aging(handle, Value.interval("aging", aging)) unless aging.nil?
      attach(store, Library.with_on_unavailable(handle, on_unavailable, local_share_percent))
    end

    # Returns whether an action over the limit is to skip the block; `argument` is its name.
    # @api private
    def self.ignores?(action, argument = "on_limit")
      ACTIONS.fetch(action.is_a?(Symbol) ? action.name : action) do
        Value.reject("must be :raise or :ignore", argument, action)
      end
    end

    # Creates a limiter from a {LoadedLimiter}.
    # @api private
    def self.from_document(store, loaded, on_unavailable, share)
      loaded.handle = Library.with_on_unavailable(loaded.handle, on_unavailable, share)
      allocate.tap { |limiter| limiter.send(:initialize_loaded, store, loaded) }
    end

    # Creates the limiter of several limiters; see {Factories#together}.
    # @api private
    def self.together(store, limiters, wait_timeout, on_limit)
      allocate.tap do |limiter|
        limiter.send(:initialize_together, store, limiters, wait_timeout, on_limit)
      end
    end

    # Returns whether the limiter has a state for each key, also for the limiter of one key.
    def keyed?
      @keyed
    end

    # Returns the limits of the policy, in its order, each a Hash as in {LimiterInfo}; those of each
    # limiter in turn, where several decide together.
    def limits
      Library.limits(@handle)
    end

    # Returns the limiter of one key, a Symbol or a String of 1 to 512 bytes. It has all methods and
    # the options of this limiter, and is for {Factories#together} too. It is cheap and made for one
    # call: the state of a key ends soon after all its units are available again.
    #
    # Raises {InvalidError} if this limiter is not keyed. {#stats} has the counters of all keys, and
    # is called without one.
    def with_key(key)
      key = Value.word("key", key).freeze
      handle = Library.with_key(@handle, key)
      dup.of_key(key, handle)
    end

    # Runs the block within the limit and returns its value. Yields the {Permit}.
    #
    # Waits as {#acquire} does, and raises {OverLimit} over the limit; with `on_limit: :ignore` it
    # skips the block and returns {SKIPPED}. `used` is another name for `cost`. A lease is released
    # after the block, however the block ends; other units remain charged. A lease that ended before
    # the block causes a warning.
    #
    #   workers.within_limit(priority: 9, share: "acme", weight: 2) { work }
    def within_limit(cost: nil, estimate: nil, used: nil, wait_timeout: nil, id: nil, key: nil,
                     settle_within: nil, priority: nil, share: nil, weight: nil, limits: nil)
      raise InvalidError.new("give one; without one, use acquire", "block") unless block_given?
      unless cost.nil? || used.nil?
        raise InvalidError.new("is another word for cost, give one of them", "used")
      end

      limiter = key.nil? ? self : with_key(key)
      cost = used if cost.nil?
      order = Value.order(priority, share, weight)
      waiter = Waiter.new(limiter, id, cost, estimate, settle_within, wait_timeout, order, limits)
      begin
        permit = waiter.acquire
      rescue OverLimit
        raise unless @skips

        return SKIPPED
      rescue InvalidError => e
        raise used.nil? ? e : in_words_of_used(e)
      end
      yield permit
    ensure
      permit ? permit.release_after_block : waiter&.cancel
    end

    # Takes the cost and returns a {Permit}. Waits in the queue for up to `wait_timeout`, an
    # interval; 0 does not wait.
    #
    # The queue is that of all processes: first come, first served, unless `priority` or `share` say
    # otherwise. Raises {OverLimit} when the wait
    # times out, or at once when it is known to be longer. A wait that is interrupted (`Timeout`,
    # `Thread#kill`, a signal) gives back its ticket or lease; but what a first call without a reply
    # took under the caller's `id` stays until it is cancelled or ends after its timeout.
    #
    # With `limits: true` the decision of the permit or of the error has each limit of the policy
    # ({Decision#limits}).
    def acquire(cost: nil, estimate: nil, wait_timeout: nil, id: nil, key: nil, settle_within: nil,
                priority: nil, share: nil, weight: nil, limits: nil)
      limiter = key.nil? ? self : with_key(key)
      order = Value.order(priority, share, weight)
      waiter = Waiter.new(limiter, id, cost, estimate, settle_within, wait_timeout, order, limits)
      permit = waiter.acquire
    ensure
      waiter&.cancel unless permit
    end

    # Takes the cost if every limit allows it and no ticket is ahead, otherwise nothing, and returns
    # a {Decision}. Never waits and never raises because of a refusal. An interrupted call gives
    # back its lease, as {#acquire} does.
    #
    # With `limits: true` the decision has each limit of the policy ({Decision#limits}).
    def try_acquire(cost: nil, estimate: nil, id: nil, key: nil, settle_within: nil, limits: nil)
      # Most calls have no arguments, and take a third longer below.
      if cost.nil? && estimate.nil? && id.nil? && key.nil? && settle_within.nil? &&
         limits.nil? && !@leases && (JobTurn::HOSTS.empty? || !Thread.current[JobTurn::RUNNING])
        buffer = CallBuffer.checkout
        code = @functions.acquire(@handle, nil, buffer.decision, buffer.error)
        buffer.check(code) unless code.zero?
        decision = Decision.new(buffer.decision.get_bytes(0, Decision::SIZE), @names)
        buffer.checkin
        return decision
      end

      unless key.nil?
        return for_key(key) do |one|
          one.try_acquire(cost: cost, estimate: estimate, id: id, settle_within: settle_within,
                          limits: limits)
        end
      end
      limits = Value.switch("limits", limits, false) unless limits.nil?
      unless id.nil?
        return acquire_with_id(Value.text("id", id), cost, estimate, settle_within, nil, nil,
                               limits)
      end
      return try_acquire_lease(cost, estimate, settle_within, limits) if @leases

      JobTurn.tell do
        buffer = CallBuffer.checkout
        buffer.check(call_acquire(buffer, cost, estimate, settle_within, limits))
        read_decision(buffer)
      end
    end

    # Takes the cost as {#try_acquire} does and returns whether the call was granted. Raises
    # {InvalidError} for a limiter with a concurrency limit, since its lease could not be released:
    # use {#within_limit} or {#try_acquire}.
    def allow?(cost: nil, estimate: nil, key: nil, settle_within: nil)
      # Most calls have no other arguments; in memory they need no decision with all its fields.
      if @at_once && cost.nil? && estimate.nil? && settle_within.nil? &&
         (JobTurn::HOSTS.empty? || !Thread.current[JobTurn::RUNNING])
        decided = begin
          if key.nil?
            Native.pg_allow_at_once(@handle, nil, 1)
          # Most keys are ASCII, and to ask for that alone is the fastest.
          elsif (key.is_a?(String) && key.ascii_only?) || Value.plain?(key)
            Native.pg_allow_at_once(@handle, key, 1)
          else
            Native.pg_allow_at_once(@handle, Value.word("key", key), 1)
          end
        rescue ArgumentError
          -1 # A key with a zero byte, which is refused below.
        end
        return decided == 1 if decided >= 0
      end

      unless key.nil?
        return for_key(key) do |one|
          one.allow?(cost: cost, estimate: estimate, settle_within: settle_within)
        end
      end

      Library.check_allow(@handle) if @leases
      if Thread.current[JobTurn::RUNNING]
        return try_acquire(cost: cost, estimate: estimate, settle_within: settle_within).allowed?
      end

      buffer = CallBuffer.checkout
      buffer.check(call_acquire(buffer, cost, estimate, settle_within))
      allowed = buffer.decision.get_int32(0) == Decision::GRANTED
      buffer.checkin
      allowed
    end

    # Returns the {Decision} that {#try_acquire} would return now. Changes nothing.
    def peek(cost: nil, estimate: nil, key: nil, settle_within: nil, limits: nil)
      unless key.nil?
        return for_key(key) do |one|
          one.peek(cost: cost, estimate: estimate, settle_within: settle_within, limits: limits)
        end
      end

      limits = Value.switch("limits", limits, false) unless limits.nil?
      buffer = CallBuffer.checkout
      request = buffer.request(cost, estimate, settle_within, nil, limits)
      buffer.check(@functions.peek(@handle, request, buffer.decision, buffer.error))
      read_decision(buffer)
    end

    # Deletes the state: charged units, permits, leases, tickets, statistics, overrides, learned
    # limits and a pause. Of a keyed limiter it is the state of one key; the statistics stay.
    def reset(key: nil)
      return for_key(key, &:reset) unless key.nil?

      buffer = CallBuffer.checkout
      buffer.check(@functions.reset(@handle, buffer.error))
      buffer.checkin
      nil
    end

    # Charges a cost in any case, up to one whole limit of debt, for costs that are known only
    # afterwards. Returns a granted {Decision} with the remaining units. A repeated call charges
    # again. Limits that count calls (concurrency, throttle) are not charged. A Hash needs its
    # braces here: `debit({ tpm: 300 })`.
    def debit(cost, key: nil)
      return for_key(key) { |one| one.debit(cost) } unless key.nil?

      cost = Value.cost("cost", cost)
      buffer = CallBuffer.checkout
      buffer.check(@functions.debit(@handle, *cost, buffer.decision, buffer.error))
      read_decision(buffer)
    end

    # Gives units back without a permit: the opposite of {#debit}, for those who count first and
    # give back later. It gives back at most what is taken of each limit now, of a window the newest
    # units. Returns a granted {Decision} with what is left. A repeated call gives back again.
    # Limits that count calls (concurrency, throttle) are not changed.
    def refund(units, key: nil)
      return for_key(key) { |one| one.refund(units) } unless key.nil?

      units = Value.cost("units", units)
      buffer = CallBuffer.checkout
      buffer.check(@functions.refund(@handle, *units, buffer.decision, buffer.error))
      read_decision(buffer)
    end

    # Replaces the estimate of a permit by the actual cost, a number or a Hash as `cost`, and
    # returns the settlement. `permit` is the {Permit} or its id, as for {#release} and {#renew}.
    #
    # `:settled`: the charge is now the actual cost; the other settlements change nothing.
    # `:already`: the permit was settled before. `:late`: the permit is older than five minutes, or
    # than its `settle_within`, and the estimate remains charged. `:unknown`: the permit was never
    # issued, reset since, or forgotten.
    def correct(permit, actual, key: nil)
      id = Value.permit(permit)
      actual = Value.cost("actual", actual)
      settlement(key) { |handle, *outputs| @functions.correct(handle, id, *actual, *outputs) }
    end

    # Reserves more units for the call of an open permit, such as a stream that grows: `units`, a
    # number from 1 or a Hash as `cost`, all of them if every limit allows it, otherwise nothing.
    # `permit` is as for {#correct}.
    #
    # Returns the {Decision}. The `permit` of a grant is the id with the sum, with which a later
    # correction compares; the older ids stay valid. A refusal leaves the permit as it was. For a
    # permit that is not open it returns `:already`, `:late` or `:unknown`, as {#correct} does. An
    # extension does not wait behind the queue, and a repeated one reserves nothing twice. Raises
    # {InvalidError} with the argument `units` when they can never be granted.
    #
    # With modules in place of the arguments it is `Object#extend`.
    def extend(permit, units = nil, *modules, key: nil)
      return super(*[permit, units, *modules].compact) if permit.is_a?(Module)

      id = Value.permit(permit)
      units = Value.cost("units", units)
      for_key(key) { |limiter| limiter.call_extend(id, units) }
    end

    # Ends the lease of a permit, from any process, and returns the settlement.
    #
    # `:released`: the lease has ended. `:late`: the lease had ended before, and another call may
    # have its slot. `:unknown`: no such lease exists, or the limiter has no concurrency limit.
    def release(permit, key: nil)
      id = Value.permit(permit)
      settlement(key) { |handle, *outputs| @functions.release(handle, id, *outputs) }
    end

    # Restarts the duration of a lease, from any process. Returns the seconds (Float) for which the
    # lease lasts from now; `nil` when it has ended.
    def renew(permit, key: nil)
      return for_key(key) { |one| one.renew(permit) } unless key.nil?

      id = Value.permit(permit)
      buffer = CallBuffer.checkout
      buffer.check(@functions.renew(@handle, id, buffer.result, buffer.error))
      lease = buffer.result.get_int64(0)
      buffer.checkin
      lease / 1_000_000.0 unless lease == -1
    end

    # Returns the counters of this limiter over all processes, and its current leases and tickets:
    # {Statistics}. Those of a keyed limiter are of all its keys, and have no leases and tickets.
    def stats
      buffer = CallBuffer.checkout
      memory = FFI::MemoryPointer.new(Statistics::SIZE)
      buffer.check(@functions.stats(@handle, memory, buffer.error))
      statistics = Statistics.of(memory)
      buffer.checkin
      statistics
    end

    # Returns what was counted in each of the last 60 minutes and 48 hours by all processes, for
    # charts: a {History}. That of a keyed limiter is of all its keys.
    #
    #     api.history.minutes.each { |minute| puts "#{Time.at(minute.start)} #{minute.refused}" }
    def history
      buffer = CallBuffer.checkout
      memory = FFI::MemoryPointer.new(History::SIZE)
      buffer.check(@functions.history_get(@handle, memory, buffer.error))
      history = History.of(memory)
      buffer.checkin
      history
    end

    # Returns the limits with the numbers that rule, a page of the leases and of the tickets, the
    # pause, the block and the mode: an {Inspection}. Takes nothing and changes nothing, and works
    # under a pause too.
    #
    # The page has `count` leases and `count` tickets from `offset` on; `count` is from 0 to 1000,
    # `offset` from 0 to 100,000. Raises {InvalidError}, argument `offset` or `count`.
    #
    #     api.inspection.limits.each { |limit| puts "#{limit.label} #{limit.remaining}" }
    def inspection(offset: 0, count: 100, key: nil)
      offset = Value.whole("offset", offset)
      count = Value.whole("count", count)
      for_key(key) { |limiter| limiter.call_inspect(offset, count) }
    end

    # Returns a page of the tickets, in the order of the queue: those of {#inspection}.
    def queue(offset: 0, count: 100, key: nil)
      inspection(offset: offset, count: count, key: key).tickets
    end

    def inspect
      "#<#{self.class} name=#{name.inspect}#{" key=#{key.inspect}" if key}>"
    end

    # @api private
    # Takes the cost under an id. `wait` has the arguments of {CallBuffer#wait}, or is `nil`;
    # `order` is as in {Value.order}.
    def acquire_with_id(id, cost, estimate, settle_within, wait, order = nil, limits = nil)
      JobTurn.tell do
        buffer = CallBuffer.checkout
        request = buffer.request(cost, estimate, settle_within, order, limits)
        wait &&= buffer.wait(*wait)
        buffer.check(@functions.acquire_with_id(@handle, request, id, wait, buffer.decision,
                                                buffer.error))
        read_decision(buffer)
      end
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
    # Returns the error of a refused wait.
    def over_limit(decision)
      OverLimit.new(decision.limiter || @name, decision)
    end

    # @api private
    # Returns the {Decision} of a `pg_decision`, with the limits of a `pg_decision_limits` if its
    # call asked for them.
    def decision_of(bytes, limits = nil)
      return Decision.new(bytes, @names) unless limits

      Decision.new(bytes, @names, limits.get_bytes(0, DecisionLimit::LIST_SIZE))
    end

    # @api private
    def listen
      Library.listen(@handle)
    end

    protected

    # Returns the {Decision} of an extension, or the settlement of a permit that is not open.
    def call_extend(id, units)
      buffer = CallBuffer.checkout
      buffer.check(@functions.extend(@handle, id, *units, buffer.result, buffer.decision,
                                     buffer.error))
      settlement = Library::SETTLEMENTS[buffer.result.get_int32(0)]
      return read_decision(buffer) if settlement.nil?

      buffer.checkin
      settlement
    end

    def call_inspect(offset, count)
      # The library refuses a higher count before it writes.
      room = count > Inspection::MAX_PAGE ? 1 : [count, 1].max
      memory, leases, tickets =
        { Inspection => 1, Inspection::Lease => room, Inspection::Ticket => room }
        .map { |type, length| FFI::MemoryPointer.new(:char, type::SIZE * length) }
      buffer = CallBuffer.checkout
      buffer.check(@functions.inspect(@handle, offset, count, memory, leases, tickets,
                                      buffer.error))
      buffer.checkin
      Inspection.read(memory, leases, tickets)
    end

    # Makes this copy the limiter of a key.
    def of_key(key, handle)
      @key = key
      @handle = handle
      self
    end

    private

    # Returns the error about a cost that the caller gave as `used`.
    def in_words_of_used(error)
      InvalidError.new(error.reason.gsub(COST, "used"), error.argument.sub(COST, "used"))
    end

    # Returns what the block returns for this limiter, or for that of a key, whose handle is then
    # closed. After an error the garbage collector closes it, since a {Cleanup} may still use it.
    def for_key(key)
      return yield(self) if key.nil?

      limiter = with_key(key)
      result = yield limiter
      limiter.handle.free
      result
    end

    def initialize_together(store, limiters, wait_timeout, on_limit)
      limiters.each do |limiter|
        Value.reject("must be limiters", "limiters", limiter) unless limiter.is_a?(Limiter)
      end
      @names = limiters.map(&:name).freeze
      @name = @names.join(" + ").freeze
      @group = limiters.first&.group
      keep_options(wait_timeout, on_limit)
      attach(store, Library.together(store.handle, limiters.map(&:handle)))
    end

    def keep_options(wait_timeout, on_limit)
      @wait_timeout =
        wait_timeout.nil? ? Library::WAIT_TIMEOUT : Value.wait_timeout(wait_timeout)
      @skips = !on_limit.nil? && Limiter.ignores?(on_limit)
      @on_limit = @skips ? :ignore : :raise
    end

    def initialize_loaded(store, loaded)
      @name = loaded.name
      @group = loaded.group
      @wait_timeout = loaded.wait_timeout || Library::WAIT_TIMEOUT
      @on_limit = @jobs_on_limit = loaded.on_limit
      @skips = on_limit == :ignore
      attach(store, loaded.handle)
    end

    def attach(store, handle)
      @functions = store.memory? ? Native::Memory : Native::Server
      # A reference to the store, since the garbage collector closes a store without references.
      @store = store
      @handle = handle
      @leases = Library.leases?(handle)
      @at_once = store.memory? && !@leases
      @keyed = Library.keyed?(handle)
    end

    # Takes the cost under a new id, with which the lease can be given back if the call is
    # interrupted or gets no reply.
    def try_acquire_lease(cost, estimate, settle_within, limits)
      id = Library.new_id
      may_hold = true
      decision = acquire_with_id(id, cost, estimate, settle_within, nil, nil, limits)
    rescue Error => e
      unanswered = true
      may_hold = e.is_a?(UnavailableError) && e.may_have_counted?
      raise
    ensure
      Cleanup.cancel(self, id, wait: !unanswered) if may_hold && decision.nil?
    end

    def call_acquire(buffer, cost, estimate, settle_within, limits = nil)
      request = buffer.request(cost, estimate, settle_within, nil, limits)
      @functions.acquire(@handle, request, buffer.decision, buffer.error)
    end

    def read_decision(buffer)
      decision = decision_of(buffer.decision.get_bytes(0, Decision::SIZE), buffer.limits)
      buffer.checkin
      decision
    end

    def settlement(key)
      for_key(key) do |limiter|
        buffer = CallBuffer.checkout
        buffer.check(yield(limiter.handle, buffer.result, buffer.error))
        settlement = Library::SETTLEMENTS[buffer.result.get_int32(0)]
        buffer.checkin
        settlement
      end
    end

    def cancel_ticket(id, gave_up, key = nil)
      settlement(key) { |handle, *outputs| @functions.cancel(handle, id, gave_up, *outputs) }
    end
  end
end

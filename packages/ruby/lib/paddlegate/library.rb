# frozen_string_literal: true

module Paddlegate
  # What is asked of the library once per thing, in Ruby's terms. See {Exchange} for the calls.
  module Library
    # The words for the numbers of kinds (of which the last is a reason only), settlements, actions
    # and levels; none for the 0s but that of actions.
    KINDS = [nil, *(1..9).map { |number| Native.pg_kind_name(number).to_sym }].freeze
    SETTLEMENTS = [nil, *(1..8).map { |number| Native.pg_settlement_name(number).to_sym }].freeze
    ACTIONS = (0..4).map { |number| Native.pg_action_name(number).to_sym }.freeze
    LEVELS = [nil, *(1..3).map { |number| Native.pg_level_name(number).to_sym }].freeze

    # Seconds that limiters wait by default.
    WAIT_TIMEOUT = Native.pg_wait_timeout_us / 1_000_000.0
    JOB_CLAIM_TIMEOUT = Native.pg_job_claim_timeout_us / 1_000_000.0

    # Microseconds that leases last by default.
    LOCK_TIMEOUT_US = Native.pg_lock_timeout_us

    # Seconds that limiters are listed by default after their last use.
    TTL = Native.pg_ttl_us / 1_000_000.0

    # How often a job is rescheduled by default.
    RESCHEDULE = Native.pg_reschedule_cap

    module_function

    def open_store(url, timeout_us)
      make(Native::StoreHandle) do |place, error|
        Native.pg_store_open(url, timeout_us, place, error)
      end
    end

    # `limits` are bytes as {limit} gives them, of one or several; `ttl_us` may be `nil`.
    def make_limiter(store, name, limits, ttl_us)
      buffer = FFI::MemoryPointer.new(:char, [limits.bytesize, LIMIT_SIZE].max)
      buffer.put_bytes(0, limits)
      count = limits.bytesize / LIMIT_SIZE
      make(Native::LimiterHandle) do |place, error|
        if ttl_us
          Native.pg_limiter_new_with_ttl(store, name, buffer, count, ttl_us, place, error)
        else
          Native.pg_limiter_new(store, name, buffer, count, place, error)
        end
      end
    end

    # The limiter of a handle, which answers so while its store cannot decide, in place of it.
    def with_on_unavailable(limiter, mode, share)
      return limiter if mode.nil? && share.nil?

      mode = Value.word("on_unavailable", mode.nil? ? :raise : mode)
      share = share.nil? ? -1 : Value.whole("share", share)
      made = make(Native::LimiterHandle) do |*places|
        Native.pg_limiter_with_on_unavailable(limiter, mode, share, *places)
      end
      limiter.free
      made
    end

    # Whether a grant of a limiter is a lease.
    def leases?(limiter)
      Native.pg_check_allow(limiter, nil) != 0
    end

    # Raises {InvalidError} where a grant is a lease, as a plain answer would leave it held.
    def check_allow(limiter)
      exchange = Exchange.take
      exchange.check(Native.pg_check_allow(limiter, exchange.error))
      exchange.give_back
    end

    # A {Hints} for the waiters of a limiter.
    def listen(limiter)
      Hints.new(make(Native::HintsHandle) { |*places| Native.pg_listen(limiter, *places) })
    end

    # The limiters of a store.
    def limiters(store)
      list = make(Native::ListHandle) { |*places| Native.pg_list_open(store, *places) }
      exchange = Exchange.take
      listed = FFI::MemoryPointer.new(:char, LimiterInfo::SIZE)
      found = []
      loop do
        exchange.check(Native.pg_list_next(list, listed, exchange.error))
        limiter = LimiterInfo.read(listed) or break
        found << limiter
      end
      exchange.give_back
      list.free
      found
    end

    # The limiters that a document defines: {Loaded}s. All but the first two may be `nil`.
    def load(store, text, lock_timeout_us = nil, tenant = nil, group = nil)
      document = make(Native::DocumentHandle) do |*places|
        Native.pg_load_with(store, text, text.bytesize, lock_timeout_us || -1, tenant, group,
                            *places)
      end
      exchange = Exchange.take
      memory = FFI::MemoryPointer.new(:char, Loaded::SIZE)
      found = []
      loop do
        exchange.check(Native.pg_document_next(document, memory, exchange.error))
        loaded = Loaded.read(memory) or break
        found << loaded
      end
      exchange.give_back
      document.free
      found
    end

    # The limiter of a run of a workflow: a {Loaded}. `lock_timeout_us` may be `nil`.
    def workflow(store, definition, run, lock_timeout_us)
      exchange = Exchange.take
      memory = FFI::MemoryPointer.new(:char, Loaded::SIZE)
      exchange.check(Native.pg_conductor_limiter(store, definition, run, lock_timeout_us || -1,
                                                 memory, exchange.error))
      exchange.give_back
      Loaded.read(memory)
    end

    # The handle of the gate of a document.
    def gate(store, text)
      make(Native::GateHandle) do |*places|
        Native.pg_invantive_gate_new(store, text, text.bytesize, *places)
      end
    end

    # Points; an absent text is `nil`.
    def graphql_cost(*texts)
      exchange = Exchange.take
      exchange.check(Native.pg_graphql_cost(*texts, exchange.place, exchange.error))
      exchange.place.get_int64(0).tap { exchange.give_back }
    end

    # Seconds until a job comes again; see {Sidekiq::Limiter::Configuration#backoff}.
    def backoff(overrated, draw)
      Native.pg_backoff(overrated, draw) / 1_000_000
    end

    # The new count of a job that was over the limit so often before; `nil` when it gives up.
    def reschedule_next(overrated, cap)
      count = Native.pg_reschedule_next(overrated, cap)
      count unless count == -1
    end

    # Where the waiters of a limiter hear that their turn has come; empty when nobody waits.
    def place(limiter)
      text { |*room, error| Native.pg_notification_node(limiter, *room, error) }
    end

    # A new id for a call, which nobody else has.
    def new_id
      exchange = Exchange.take
      exchange.check(Native.pg_new_id(exchange.text, exchange.error))
      id = exchange.text.get_bytes(0, ID_SIZE).force_encoding("UTF-8")
      exchange.give_back
      id
    end

    # The text that a call writes into a place with some room.
    def text
      exchange = Exchange.take
      exchange.check(yield(exchange.text, Exchange::TEXT_SIZE, exchange.error))
      text = exchange.text.get_string(0).force_encoding("UTF-8")
      exchange.give_back
      text
    end

    # A `pg_limit`.
    def limit(kind, amount, interval_us, offset_us)
      [KINDS.index(kind), amount, interval_us, offset_us].pack("lx4q3")
    end

    # Microseconds. An error carries the name that the caller has for the argument.
    def parse_interval(argument, text)
      exchange = Exchange.take
      exchange.check(Native.pg_parse_interval(text, exchange.place, exchange.error))
      exchange.place.get_int64(0).tap { exchange.give_back }
    rescue InvalidError => e
      raise e.argument == argument ? e : InvalidError.new(e.reason, argument)
    end

    LIMIT_SIZE = 32
    ID_SIZE = 32
    private_constant :LIMIT_SIZE, :ID_SIZE

    def make(type)
      exchange = Exchange.take
      exchange.check(yield(exchange.place, exchange.error))
      type.new(exchange.place.read_pointer).tap { exchange.give_back }
    end
    private_class_method :make
  end
end

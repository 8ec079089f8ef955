# frozen_string_literal: true

module Paddlegate
  # Wrappers with Ruby types for the functions of the C library, except the calls of limiters and
  # gates in {Native::FUNCTIONS}.
  module Library
    # The names of kinds, reasons, settlements, actions and levels, by code; a code that has none is
    # "?". Only actions have a name for code 0.
    KINDS = [nil, *(1..11).map { |number| Native.pg_kind_name(number).to_sym }].freeze
    REASONS = [nil, *(1..13).map { |number| Native.pg_reason_name(number).to_sym }].freeze
    SETTLEMENTS = [nil, *(1..8).map { |number| Native.pg_settlement_name(number).to_sym }].freeze
    ACTIONS = (0..4).map { |number| Native.pg_action_name(number).to_sym }.freeze
    LEVELS = [nil, *(1..3).map { |number| Native.pg_level_name(number).to_sym }].freeze

    # The default maximum wait of limiters, and the default claim timeouts of tickets and of
    # admissions, in seconds.
    WAIT_TIMEOUT = Native.pg_wait_timeout_us / 1_000_000.0
    JOB_CLAIM_TIMEOUT = Native.pg_job_claim_timeout_us / 1_000_000.0
    ADMISSION_CLAIM_TIMEOUT = Native.pg_admission_claim_timeout_us / 1_000_000.0

    # The time in seconds for which an interrupted call waits for its cancellation.
    CANCEL_TIMEOUT = Native.pg_cancel_timeout_us / 1_000_000.0

    # The default duration of leases, in microseconds.
    LOCK_TIMEOUT_US = Native.pg_lock_timeout_us

    # The default time in seconds for which a limiter is listed after its last use.
    TTL = Native.pg_ttl_us / 1_000_000.0

    # The default maximum number of reschedules of a job.
    RESCHEDULE = Native.pg_reschedule_cap

    module_function

    # Opens a store. `url` and `clock`, the handle of a {TestClock}, may be `nil`.
    def open_store(url, timeout_us, clock)
      make(Native::StoreHandle) do |*outputs|
        Native.pg_store_open_with_clock(url, timeout_us, clock, *outputs)
      end
    end

    # Returns the handle of a new clock.
    def test_clock(now_us)
      make(Native::TestClockHandle) { |*outputs| Native.pg_test_clock_new(now_us, *outputs) }
    end

    # Returns the handle of a new {StreamUsage}.
    def stream_usage
      make(Native::StreamUsageHandle) { |*outputs| Native.pg_stream_usage_new(*outputs) }
    end

    # Creates a limiter. `limits` is as in {Policy.pack}; `ttl_us` may be `nil`.
    def make_limiter(store, name, limits, ttl_us)
      Policy.pack(limits) do |*array|
        make(Native::LimiterHandle) do |result, error|
          if ttl_us
            Native.pg_limiter_new_with_ttl(store, name, *array, ttl_us, result, error)
          else
            Native.pg_limiter_new(store, name, *array, result, error)
          end
        end
      end
    end

    # Creates the limiter of several limiters, which are given by their handles.
    def together(store, limiters)
      array = FFI::MemoryPointer.new(:pointer, [limiters.size, 1].max)
      array.write_array_of_pointer(limiters)
      make(Native::LimiterHandle) do |*outputs|
        Native.pg_together(store, array, limiters.size, *outputs)
      end
    end

    # Returns a copy of the limiter in a group, and frees the original; `group` may be `nil`.
    def with_group(limiter, group)
      return limiter if group.nil?

      replace(limiter) { |*outputs| Native.pg_limiter_with_group(limiter, group, *outputs) }
    end

    # Returns a copy of the limiter with a state for each key, and frees the original.
    def keyed(limiter)
      replace(limiter) { |*outputs| Native.pg_limiter_keyed(limiter, *outputs) }
    end

    # Returns a copy of the limiter that keeps no statistics, and frees the original.
    def without_statistics(limiter)
      replace(limiter) { |*outputs| Native.pg_limiter_without_statistics(limiter, *outputs) }
    end

    # Returns a copy of the limiter in this mode, and frees the original.
    def with_mode(limiter, mode)
      replace(limiter) { |*outputs| Native.pg_limiter_with_mode(limiter, mode, *outputs) }
    end

    # Returns a copy of the limiter that blocks by itself, and frees the original. Times are in
    # microseconds.
    def with_block_after(limiter, refusals, within, lasts)
      replace(limiter) do |*outputs|
        Native.pg_limiter_with_block_after(limiter, refusals, within, lasts, *outputs)
      end
    end

    # Returns a copy of the limiter whose calls rise in the queue after each such time, in
    # microseconds, and frees the original.
    def with_aging(limiter, aging)
      replace(limiter) { |*outputs| Native.pg_limiter_with_aging(limiter, aging, *outputs) }
    end

    # Returns a copy of the limiter with this behaviour when the store is unavailable, and frees the
    # original.
    def with_on_unavailable(limiter, mode, share)
      return limiter if mode.nil? && share.nil?

      mode = Value.word("on_unavailable", mode.nil? ? :raise : mode)
      share = share.nil? ? -1 : Value.whole("local_share_percent", share)
      replace(limiter) do |*outputs|
        Native.pg_limiter_with_on_unavailable(limiter, mode, share, *outputs)
      end
    end

    # Returns the limiter of one key; the original stays.
    def with_key(limiter, key)
      make(Native::LimiterHandle) do |*outputs|
        Native.pg_limiter_with_key(limiter, key, *outputs)
      end
    end

    # Returns the limits of a limiter; see {Limiter#limits}.
    def limits(limiter)
      memory = FFI::MemoryPointer.new(:char, MAX_LIMITS * Policy::LABELLED_SIZE)
      buffer = CallBuffer.checkout
      buffer.check(Native.pg_limiter_limits(limiter, memory, MAX_LIMITS, buffer.result,
                                            buffer.error))
      Policy.unpack(memory, 0, buffer.result.get_int64(0)).tap { buffer.checkin }
    end

    # Returns the fields of a `pg_decision`, a Hash. `limits` is a `pg_decision_limits` or `nil`.
    def headers(decision, limits, names, fields)
      array, = texts = Value.pointers(names)
      room = names.empty? ? 4096 : 131_072
      lines = written(room) do |*target, error|
        Native.pg_decision_headers(memory(decision), limits && memory(limits), array, texts[1].size,
                                   fields, *target, error)
      end
      lines.split("\n").to_h { |line| line.split(": ", 2) }
    end

    # Returns the key of a caller; see {Paddlegate.caller_key}.
    def caller_key(address, forwarded_for, proxies, prefix)
      array, = texts = Value.pointers(proxies)
      written(KEY_SIZE) do |*target, error|
        Native.pg_caller_key(address, address.bytesize, forwarded_for, forwarded_for.bytesize,
                             array, texts[1].size, prefix, *target, error)
      end
    end

    # Returns the key for a text of a stranger.
    def plain_key(text)
      written(KEY_SIZE) do |*target, error|
        Native.pg_plain_key(text, text.bytesize, *target, error)
      end
    end

    # Returns the text that a function of the C library writes into memory with this room.
    def written(room)
      target = FFI::MemoryPointer.new(:char, room)
      buffer = CallBuffer.checkout
      buffer.check(yield(target, room, buffer.error))
      buffer.checkin
      target.read_string.force_encoding("UTF-8")
    end
    private_class_method :written

    # Returns memory with these bytes: those of a String may stand at any address.
    def memory(bytes)
      FFI::MemoryPointer.new(:char, bytes.bytesize).put_bytes(0, bytes)
    end
    private_class_method :memory

    # Returns whether a limiter has a state for each key.
    def keyed?(limiter)
      Native.pg_limiter_is_keyed(limiter) == 1
    end

    # Returns whether the grants of a limiter are leases.
    def leases?(limiter)
      Native.pg_check_allow(limiter, nil) != 0
    end

    # Raises {InvalidError} if the grants of a limiter are leases: a plain yes or no would leave the
    # lease held.
    def check_allow(limiter)
      buffer = CallBuffer.checkout
      buffer.check(Native.pg_check_allow(limiter, buffer.error))
      buffer.checkin
    end

    # Returns the seconds of the pause before a hub connects again, after so many earlier ones.
    def reconnect_pause(failures)
      Native.pg_reconnect_pause_us(failures) / 1_000_000.0
    end

    # Opens a {WakeupListener} for the waiters of a limiter.
    def listen(limiter)
      WakeupListener.new(make(Native::WakeupListenerHandle) do |*outputs|
        Native.pg_listen(limiter, *outputs)
      end)
    end

    # Returns the limiters of a store whose names begin with `prefix`.
    def limiters(store, prefix)
      list = make(Native::ListHandle) do |*outputs|
        Native.pg_list_open_prefix(store, prefix, *outputs)
      end
      read_list(list).tap { list.free }
    end

    # Returns a {LimiterPage}; `cursor` may be `nil`.
    def limiter_page(store, prefix, cursor)
      list = make(Native::ListHandle) do |*outputs|
        Native.pg_list_open_page(store, prefix, cursor, *outputs)
      end
      cursor = text { |*target, error| Native.pg_list_cursor(list, *target, error) }
      page = LimiterPage.new(read_list(list), (cursor.freeze unless cursor.empty?))
      list.free
      page.freeze
    end

    def read_list(list)
      buffer = CallBuffer.checkout
      info = FFI::MemoryPointer.new(:char, LimiterInfo::SIZE)
      found = []
      loop do
        buffer.check(Native.pg_list_next(list, info, buffer.error))
        limiter = LimiterInfo.read(info) or break
        found << limiter
      end
      buffer.checkin
      found
    end
    private_class_method :read_list

    # Creates the limiters of a document and returns a list of {LoadedLimiter}s. All arguments but
    # the first two may be `nil`.
    def load(store, text, lock_timeout_us = nil, tenant = nil, group = nil)
      document = make(Native::DocumentHandle) do |*outputs|
        Native.pg_load_with(store, text, text.bytesize, lock_timeout_us || -1, tenant, group,
                            *outputs)
      end
      buffer = CallBuffer.checkout
      memory = FFI::MemoryPointer.new(:char, LoadedLimiter::SIZE)
      found = []
      loop do
        buffer.check(Native.pg_document_next(document, memory, buffer.error))
        loaded = LoadedLimiter.read(memory) or break
        found << loaded
      end
      buffer.checkin
      document.free
      found
    end

    # Creates the limiter for a run of a Conductor workflow and returns a {LoadedLimiter}.
    # `lock_timeout_us` may be `nil`.
    def conductor_limiter(store, definition, run, lock_timeout_us)
      buffer = CallBuffer.checkout
      memory = FFI::MemoryPointer.new(:char, LoadedLimiter::SIZE)
      buffer.check(Native.pg_conductor_limiter(store, definition, run, lock_timeout_us || -1,
                                               memory, buffer.error))
      buffer.checkin
      LoadedLimiter.read(memory)
    end

    # Returns the handle of the gate of an Invantive document.
    def invantive_gate(store, text)
      make(Native::GateHandle) do |*outputs|
        Native.pg_invantive_gate_new(store, text, text.bytesize, *outputs)
      end
    end

    # Returns the cost of a query in points; an absent text is `nil`.
    def graphql_cost(*texts)
      buffer = CallBuffer.checkout
      buffer.check(Native.pg_graphql_cost(*texts, buffer.result, buffer.error))
      buffer.result.get_int64(0).tap { buffer.checkin }
    end

    # Returns the seconds until a job runs again; see {Sidekiq::Limiter::Configuration#backoff}.
    def backoff(overrated, draw)
      Native.pg_backoff(overrated, draw) / 1_000_000
    end

    # Returns the new count of a job that was over the limit `overrated` times before; `nil` when
    # the job gives up.
    def reschedule_next(overrated, cap)
      count = Native.pg_reschedule_next(overrated, cap)
      count unless count == -1
    end

    # Returns the node that sends the wake-ups of a limiter; empty for a limiter without a state,
    # for which no call waits.
    def notification_node(limiter)
      text { |*target, error| Native.pg_notification_node(limiter, *target, error) }
    end

    # Returns a new unique id for a call.
    def new_id
      buffer = CallBuffer.checkout
      buffer.check(Native.pg_new_id(buffer.text, buffer.error))
      id = buffer.text.get_bytes(0, ID_SIZE).force_encoding("UTF-8")
      buffer.checkin
      id
    end

    # Returns the text that a function of the C library writes; yields the memory for it, its size
    # and the memory for an error.
    def text
      buffer = CallBuffer.checkout
      buffer.check(yield(buffer.text, CallBuffer::TEXT_SIZE, buffer.error))
      text = buffer.text.get_string(0).force_encoding("UTF-8")
      buffer.checkin
      text
    end

    # Returns an interval in microseconds. An error has the caller's name of the argument.
    def parse_interval(argument, text)
      buffer = CallBuffer.checkout
      buffer.check(Native.pg_parse_interval(text, buffer.result, buffer.error))
      buffer.result.get_int64(0).tap { buffer.checkin }
    rescue InvalidError => e
      raise e.argument == argument ? e : InvalidError.new(e.reason, argument)
    end

    ID_SIZE = 32
    # The room for a key, and the most limits of a limiter.
    KEY_SIZE = 520
    MAX_LIMITS = 32
    private_constant :ID_SIZE, :KEY_SIZE, :MAX_LIMITS

    def make(type)
      buffer = CallBuffer.checkout
      buffer.check(yield(buffer.result, buffer.error))
      type.new(buffer.result.read_pointer).tap { buffer.checkin }
    end
    private_class_method :make

    # Returns a copy of a limiter, and frees the original.
    def replace(limiter, &block)
      make(Native::LimiterHandle, &block).tap { limiter.free }
    end
    private_class_method :replace
  end
end

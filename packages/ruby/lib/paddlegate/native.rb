# frozen_string_literal: true

require "ffi"

module Paddlegate
  # The functions of the C library, as its header `paddlegate.h` declares them.
  module Native
    extend FFI::Library

    # Returns the paths of the library, by preference: `PADDLEGATE_LIBRARY`, the library inside the
    # gem, the library built in the work tree.
    def self.candidates
      file = "libpaddlegate.#{FFI::Platform::LIBSUFFIX}"
      [
        ENV.fetch("PADDLEGATE_LIBRARY", nil),
        File.expand_path(file, __dir__),
        File.expand_path("../../../../target/release/#{file}", __dir__)
      ].compact
    end

    path = candidates.find { |candidate| File.exist?(candidate) }
    raise LoadError, "no library of paddlegate at #{candidates.join(", ")}" unless path

    ffi_lib path

    # Another version may have structures with another layout.
    begin
      attach_function :pg_version, [], :string
    rescue FFI::NotFoundError
      raise LoadError, "no library of paddlegate: path=#{path}"
    end
    unless pg_version == VERSION
      raise LoadError, "the library of paddlegate is of another version, install the one that " \
                       "belongs to the gem: library=#{pg_version} gem=#{VERSION} path=#{path}"
    end

    # A handle of a store. The garbage collector closes it, as it does the other handles.
    class StoreHandle < FFI::AutoPointer
      def self.release(handle)
        Native.pg_store_close(handle, nil)
      end
    end

    # A handle of a test clock.
    class TestClockHandle < FFI::AutoPointer
      def self.release(handle)
        Native.pg_test_clock_close(handle, nil)
      end
    end

    # A handle of a stream's usage.
    class StreamUsageHandle < FFI::AutoPointer
      def self.release(handle)
        Native.pg_stream_usage_close(handle, nil)
      end
    end

    # A handle of a limiter.
    class LimiterHandle < FFI::AutoPointer
      def self.release(handle)
        Native.pg_limiter_close(handle, nil)
      end
    end

    # A handle of a wake-up listener.
    class WakeupListenerHandle < FFI::AutoPointer
      def self.release(handle)
        Native.pg_wakeups_close(handle, nil)
      end
    end

    # A handle of a list of limiters.
    class ListHandle < FFI::AutoPointer
      def self.release(handle)
        Native.pg_list_close(handle, nil)
      end
    end

    # A handle of a gate.
    class GateHandle < FFI::AutoPointer
      def self.release(handle)
        Native.pg_invantive_gate_close(handle, nil)
      end
    end

    # A handle of a document.
    class DocumentHandle < FFI::AutoPointer
      def self.release(handle)
        Native.pg_document_close(handle, nil)
      end
    end

    attach_function :pg_send_counts, [], :void, blocking: true
    attach_function :pg_kind_name, [:int32], :string
    attach_function :pg_reason_name, [:int32], :string
    attach_function :pg_settlement_name, [:int32], :string
    attach_function :pg_action_name, [:int32], :string
    attach_function :pg_wait_timeout_us, [], :int64
    attach_function :pg_job_claim_timeout_us, [], :int64
    attach_function :pg_admission_claim_timeout_us, [], :int64
    attach_function :pg_lock_timeout_us, [], :int64
    attach_function :pg_ttl_us, [], :int64
    attach_function :pg_reschedule_cap, [], :int64
    attach_function :pg_backoff, %i[int64 int64], :int64
    attach_function :pg_reschedule_next, %i[int64 int64], :int64
    attach_function :pg_parse_interval, %i[string pointer pointer], :int32
    attach_function :pg_new_id, %i[pointer pointer], :int32
    attach_function :pg_test_clock_new, %i[int64 pointer pointer], :int32
    attach_function :pg_test_clock_now, [:pointer], :int64
    attach_function :pg_test_clock_set, %i[pointer int64 pointer], :int32
    attach_function :pg_test_clock_advance, %i[pointer int64 pointer], :int32
    attach_function :pg_test_clock_close, %i[pointer pointer], :int32
    attach_function :pg_store_open_with_clock, %i[string int64 pointer pointer pointer], :int32
    attach_function :pg_store_is_memory, [:pointer], :int32
    attach_function :pg_store_close, %i[pointer pointer], :int32
    attach_function :pg_limiter_new, %i[pointer string pointer size_t pointer pointer], :int32
    attach_function :pg_limiter_new_with_ttl,
                    %i[pointer string pointer size_t int64 pointer pointer], :int32
    attach_function :pg_limiter_with_on_unavailable,
                    %i[pointer string int64 pointer pointer], :int32
    attach_function :pg_limiter_with_group, %i[pointer string pointer pointer], :int32
    attach_function :pg_limiter_keyed, %i[pointer pointer pointer], :int32
    attach_function :pg_limiter_with_key, %i[pointer string pointer pointer], :int32
    attach_function :pg_limiter_without_statistics, %i[pointer pointer pointer], :int32
    attach_function :pg_limiter_with_mode, %i[pointer string pointer pointer], :int32
    attach_function :pg_limiter_with_block_after, %i[pointer int64 int64 int64 pointer pointer],
                    :int32
    attach_function :pg_limiter_with_aging, %i[pointer int64 pointer pointer], :int32
    attach_function :pg_limiter_is_keyed, [:pointer], :int32
    attach_function :pg_together, %i[pointer pointer size_t pointer pointer], :int32
    attach_function :pg_check_allow, %i[pointer pointer], :int32
    attach_function :pg_allow_at_once, %i[pointer string int64], :int32
    attach_function :pg_limiter_close, %i[pointer pointer], :int32
    attach_function :pg_notification_node, %i[pointer pointer size_t pointer], :int32
    attach_function :pg_listen, %i[pointer pointer pointer], :int32, blocking: true
    attach_function :pg_wakeups_fd, [:pointer], :int32
    attach_function :pg_wakeups_channel, %i[pointer pointer size_t pointer], :int32
    attach_function :pg_wakeups_receive, %i[pointer pointer size_t pointer pointer], :int32
    attach_function :pg_wakeups_close, %i[pointer pointer], :int32
    attach_function :pg_waiter_init, %i[pointer string int64 int64 pointer], :int32
    attach_function :pg_waiter_init_job, %i[pointer string int64 int64 int64 pointer], :int32
    attach_function :pg_waiter_next, %i[pointer int64 string pointer pointer], :int32
    attach_function :pg_waiter_on_decision, %i[pointer int64 pointer], :int32
    attach_function :pg_waiter_on_error, %i[pointer pointer], :void
    attach_function :pg_waiter_on_wakeup, %i[pointer int64], :void
    attach_function :pg_waiter_retry_at, %i[pointer string], :int64
    attach_function :pg_waiter_must_cancel, %i[pointer int32], :int32
    attach_function :pg_reconnect_pause_us, [:int64], :int64
    attach_function :pg_cancel_timeout_us, [], :int64
    attach_function :pg_list_open_prefix, %i[pointer string pointer pointer], :int32, blocking: true
    attach_function :pg_list_open_page, %i[pointer string string pointer pointer], :int32,
                    blocking: true
    attach_function :pg_list_cursor, %i[pointer pointer size_t pointer], :int32
    attach_function :pg_list_next, %i[pointer pointer pointer], :int32
    attach_function :pg_list_close, %i[pointer pointer], :int32

    attach_function :pg_load_with,
                    %i[pointer pointer size_t int64 string string pointer pointer], :int32
    attach_function :pg_document_next, %i[pointer pointer pointer], :int32
    attach_function :pg_document_close, %i[pointer pointer], :int32
    attach_function :pg_invantive_gate_new, %i[pointer pointer size_t pointer pointer], :int32
    attach_function :pg_invantive_gate_close, %i[pointer pointer], :int32
    attach_function :pg_level_name, [:int32], :string
    attach_function :pg_conductor_limiter, %i[pointer string string int64 pointer pointer], :int32
    attach_function :pg_stream_usage_new, %i[pointer pointer], :int32
    attach_function :pg_stream_usage_feed, %i[pointer pointer size_t pointer], :int32
    attach_function :pg_stream_usage_body, %i[pointer pointer size_t pointer], :int32
    attach_function :pg_stream_usage_ignored, %i[pointer pointer size_t pointer], :int32
    attach_function :pg_stream_usage_close, %i[pointer pointer], :int32
    attach_function :pg_decision_headers,
                    %i[pointer pointer pointer size_t string pointer size_t pointer], :int32
    attach_function :pg_limiter_limits, %i[pointer pointer size_t pointer pointer], :int32
    attach_function :pg_caller_key,
                    %i[pointer size_t pointer size_t pointer size_t int64 pointer size_t
                       pointer], :int32
    attach_function :pg_plain_key, %i[pointer size_t pointer size_t pointer], :int32
    attach_function :pg_graphql_cost, %i[string string string string pointer pointer], :int32

    # The argument types of the functions of a limiter or a gate, by the name without `pg_`.
    FUNCTIONS = {
      acquire: %i[pointer pointer pointer pointer],
      peek: %i[pointer pointer pointer pointer],
      acquire_with_id: %i[pointer pointer string pointer pointer pointer],
      admit_within: %i[pointer string string int64 pointer pointer pointer],
      admit_all: %i[pointer pointer size_t string int32 pointer pointer],
      ready_for: %i[pointer string string size_t pointer pointer pointer pointer],
      invantive_gate_admit: %i[pointer pointer pointer pointer],
      debit: %i[pointer int64 pointer size_t pointer pointer],
      refund: %i[pointer int64 pointer size_t pointer pointer],
      correct: %i[pointer string int64 pointer size_t pointer pointer],
      extend: %i[pointer string int64 pointer size_t pointer pointer pointer],
      release: %i[pointer string pointer pointer],
      renew: %i[pointer string pointer pointer],
      cancel: %i[pointer string int32 pointer pointer],
      stats: %i[pointer pointer pointer],
      history_get: %i[pointer pointer pointer],
      inspect: %i[pointer size_t size_t pointer pointer pointer pointer],
      reset: %i[pointer pointer],
      pause: %i[pointer int64 int64 pointer pointer],
      block: %i[pointer int64 int64 pointer pointer],
      resume: %i[pointer pointer pointer],
      override: %i[pointer string int64 int64 int64 int64 pointer pointer],
      override_limits: %i[pointer pointer size_t int64 int64 pointer pointer],
      override_mode: %i[pointer string int64 int64 pointer pointer],
      restore: %i[pointer string pointer pointer],
      runtime_state_get: %i[pointer pointer pointer],
      apply_ojs_signal: %i[pointer string pointer pointer],
      apply_ojs_override: %i[pointer string pointer pointer],
      report_budget: %i[pointer string string int64 int64 int64 double int64 int64 pointer pointer],
      learn_from_response: %i[pointer string string int32 pointer size_t pointer size_t int64 int64
                              int64 pointer pointer]
    }.freeze

    # The functions for a server: other threads run during a call, and a signal ends it.
    module Server
      extend FFI::Library
    end

    # The functions for the memory store, which replies at once.
    module Memory
      extend FFI::Library
    end

    [Server, Memory].each do |functions|
      functions.ffi_lib path
      FUNCTIONS.each do |name, arguments|
        functions.attach_function name, :"pg_#{name}", arguments, :int32,
                                  blocking: functions == Server
      end
    end

    # Gives a function that waits for a server a thread of its own when a fiber of a scheduler calls
    # it, so that the other fibers run on. A fiber that is ended ends its call first: what is given
    # back then comes after it.
    def self.spare_fibers(functions, name, types)
      arguments = Array.new(types.size) { |i| "a#{i}" }.join(", ")
      functions.singleton_class.alias_method :"#{name}_here", name
      functions.module_eval <<~RUBY, __FILE__, __LINE__ + 1
        def self.#{name}(#{arguments})                                     # def self.reset(a0, a1)
          return #{name}_here(#{arguments}) unless Fiber.current_scheduler #   return reset_here ...

          thread = Thread.new do                                           #   thread = Thread.new do
            Thread.handle_interrupt(Object => :immediate) do               #     ...
              #{name}_here(#{arguments})                                   #       reset_here(a0, a1)
            end                                                            #     end
          end                                                              #   end
          begin                                                            #   begin
            thread.value                                                   #     thread.value
          ensure                                                           #   ensure
            thread.kill.join if thread.alive?                              #     thread.kill.join ...
          end                                                              #   end
        end                                                                # end
      RUBY
    end
    private_class_method :spare_fibers

    # Ruby 3.0 does not tell whether its fiber may block.
    if Fiber.respond_to?(:current_scheduler)
      FUNCTIONS.each { |name, types| spare_fibers(Server, name, types) }
      { pg_list_open_prefix: 4, pg_list_open_page: 5 }.each do |name, count|
        spare_fibers(self, name, Array.new(count))
      end
    end

    # The garbage collector may not see a store before the program ends.
    at_exit { pg_send_counts }
  end
end

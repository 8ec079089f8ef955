# frozen_string_literal: true

module Paddlegate
  # Gives back what was granted to a call that has ended without taking it: its lease or its ticket.
  #
  # In a thread of its own, as the server may not answer and the thread of the call is wanted
  # elsewhere.
  module Cleanup
    # For how many seconds a call that was ended from outside waits for it: long enough for a server
    # that answers, so that the place is free when the caller goes on.
    JOIN_TIMEOUT = 0.02

    # For how many seconds the end of the program waits for what is still under way.
    EXIT_JOIN_TIMEOUT = 0.2

    @threads = ThreadGroup.new

    class << self
      # `wait`: whether the caller has time to wait for it.
      def cancel(limiter, id, at_us: nil, wait: true)
        thread = Thread.handle_interrupt(Object => :never) { start(limiter, id, at_us) }
        thread.join(JOIN_TIMEOUT) if wait
      rescue ThreadError
        # The program ends, and no thread can be made.
        cancel_now(limiter, id, at_us)
      end

      private

      def start(limiter, id, at_us)
        join_at_exit
        thread = Thread.new do
          Thread.handle_interrupt(Object => :immediate) { cancel_now(limiter, id, at_us) }
        end
        @threads.add(thread)
        thread
      end

      def cancel_now(limiter, id, at_us)
        limiter.cancel(id, at_us: at_us)
      rescue Error
        # It ends by itself.
      end

      def join_at_exit
        return if @joins_at_exit

        @joins_at_exit = true
        at_exit { join_all }
      end

      # In a child there are none of its parent.
      def join_all
        deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + EXIT_JOIN_TIMEOUT
        @threads.list.each do |thread|
          thread.join([deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC), 0].max)
        end
      end
    end
  end
end

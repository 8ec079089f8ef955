# frozen_string_literal: true

module Paddlegate
  # Gives back the lease or the ticket of a call that ended without returning it to its caller.
  #
  # Works on a separate thread: the server may not reply, and the calling thread must not be
  # blocked.
  module Cleanup
    # The maximum time in seconds for which the program waits at exit for all unfinished cleanups.
    EXIT_JOIN_TIMEOUT = 0.2

    @threads = ThreadGroup.new

    class << self
      # Cancels the call `id`. With `wait` the caller waits for it, for up to
      # {Library::CANCEL_TIMEOUT}: enough for a server that replies, so that the lease or the ticket
      # is free when the caller continues.
      def cancel(limiter, id, wait: true)
        thread = Thread.handle_interrupt(Object => :never) { start(limiter, id) }
        wait_for(thread) if wait
      rescue ThreadError
        # The program is exiting and cannot create a thread.
        cancel_now(limiter, id)
      end

      # Cancels the call `id` on this thread.
      def cancel_now(limiter, id)
        limiter.cancel(id)
      rescue Error
        # The lease or the ticket ends after its timeout.
      end

      private

      # In a fiber of a scheduler, Ruby 3.1 waits without an end.
      def wait_for(thread)
        return thread.join(Library::CANCEL_TIMEOUT) unless Fiber.scheduler

        deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Library::CANCEL_TIMEOUT
        while thread.alive? && Process.clock_gettime(Process::CLOCK_MONOTONIC) < deadline
          sleep(0.002)
        end
      end

      def start(limiter, id)
        join_at_exit
        thread = Thread.new do
          Thread.handle_interrupt(Object => :immediate) { cancel_now(limiter, id) }
        end
        @threads.add(thread)
        thread
      end

      def join_at_exit
        return if @joins_at_exit

        @joins_at_exit = true
        at_exit { join_all }
      end

      # Waits for the unfinished cleanups. After a fork the list has no threads of the parent.
      def join_all
        deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + EXIT_JOIN_TIMEOUT
        @threads.list.each do |thread|
          thread.join([deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC), 0].max)
        end
      end
    end
  end
end

# frozen_string_literal: true

module Paddlegate
  # @api private
  # Renews the leases of permits from one thread of the process, which runs while there are any.
  #
  # A lease whose holder is garbage is renewed no more, so that it ends: the body of a response that
  # nobody closes.
  module Renewal
    # Seconds between two renewals of a lease at least.
    SHORTEST = 0.1
    private_constant :SHORTEST

    @lock = Mutex.new
    @changed = ConditionVariable.new
    @due = {}.compare_by_identity
    @dropped = []

    class << self
      # Renews the lease of a permit, if it has one, when half of its time is over, until {stop}.
      # After a failure it tries again when half of what is left is over.
      def start(permit, holder)
        return if permit.expires_in.nil?

        ObjectSpace.define_finalizer(holder, dropped(permit))
        @lock.synchronize do
          # A forked process renews nothing of its parent.
          @due.clear unless @pid == Process.pid
          @pid = Process.pid
          plan(permit)
          @thread = Thread.new { run } unless @thread&.alive?
          @changed.broadcast
        end
      end

      # Returns once the permit is renewed no more: a renewal that arrives after the release would
      # find that the lease was lost.
      def stop(permit, holder)
        ObjectSpace.undefine_finalizer(holder)
        @lock.synchronize do
          @due.delete(permit)
          @changed.wait(@lock) while @renewed.equal?(permit) && @pid == Process.pid
        end
      end

      private

      # A finalizer runs anywhere, also in a thread that has the lock, and must not know its holder.
      def dropped(permit)
        proc { @dropped << permit }
      end

      def plan(permit)
        left = permit.expires_in
        @due[permit] = now + [left / 2, SHORTEST].max
        @due.delete(permit) if left.zero?
      end

      def run
        Thread.current.name = "paddlegate-renew"
        while (permit = next_permit)
          going_on = renew(permit)
          @lock.synchronize do
            going_on && @due[permit] ? plan(permit) : @due.delete(permit)
            @renewed = nil
            @changed.broadcast
          end
        end
      end

      def renew(permit)
        permit.renew
      rescue Error
        true # The server may be back before the lease ends.
      end

      # Waits for the next renewal and returns its permit; `nil` when there is none, and the thread
      # ends.
      def next_permit
        @lock.synchronize do
          loop do
            @due.delete(@dropped.shift) until @dropped.empty?
            permit, due = @due.min_by(&:last)
            break @thread = nil if permit.nil?

            left = due - now
            break @renewed = permit unless left.positive?

            @changed.wait(@lock, left)
          end
        end
      end

      def now
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end

# frozen_string_literal: true

module Paddlegate
  # The ids of the queued jobs of a limiter, each when its turn comes; see {Limiter#turns}.
  class Turns
    include Sleeper

    # The id that the wake-ups name.
    attr_reader :id

    attr_reader :limiter

    # `wait_timeout`: seconds without a turn after which {#each} ends; `nil` for no end.
    def initialize(limiter, count, wait_timeout)
      @limiter = limiter
      @id = Library.new_id
      @count = count
      @wait_timeout = wait_timeout
      @due = 0.0
      @asked_channel = ""
    end

    # Yields the ids. Ends when no turn has come in time.
    def each(&block)
      while (ids = next_ids)
        ids.each(&block)
      end
    ensure
      @hub&.remove(self)
    end

    private

    # Returns the turns that come next; `nil` when none has come in time.
    def next_ids
      @finish = @wait_timeout && (now + @wait_timeout)
      loop do
        listen_for_wakeups(listen: true) unless @limiter.notification_node.empty?
        if due_in.positive?
          return if @finish && @finish <= now

          sleep_until_due
        else
          ids = ask
          return ids unless ids.empty?
        end
      end
    end

    def ask
      @wake_at = nil
      @due = 0.0
      @asked_channel = channel
      ids, after = @limiter.call_ready(@count, @id, @asked_channel)
      @due = now + after
      ids
    end

    # Returns the seconds until the next question; none when the channel is another one.
    def due_in
      return 0 unless channel == @asked_channel

      [@due, @wake_at].compact.min - now
    end

    def time_left
      @finish ? [due_in, @finish - now].min : due_in
    end
  end
end

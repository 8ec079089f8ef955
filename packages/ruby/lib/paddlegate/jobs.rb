# frozen_string_literal: true

module Paddlegate
  # The methods of a {Limiter} for job systems, where no thread waits: an id keeps the queue
  # position of a job.
  module Jobs
    # The default time in seconds in which a ticket of {#enqueue} must be claimed once {#claim} is
    # due.
    CLAIM_TIMEOUT = Library::JOB_CLAIM_TIMEOUT

    # The default time in seconds after which others pass a job of {#admit} by that has not called
    # since its turn.
    ADMISSION_CLAIM_TIMEOUT = Library::ADMISSION_CLAIM_TIMEOUT

    # The maximum number of ids that {#ready} returns, and its default.
    MAX_READY = 100

    # The size of a `pg_queued_id`, and where its length is.
    QUEUED_ID_SIZE = 80
    QUEUED_ID_LENGTH = 72

    EXISTING_POSITION = -1
    END_OF_QUEUE = 0
    NOT_GIVEN = -1
    private_constant :QUEUED_ID_SIZE, :QUEUED_ID_LENGTH, :EXISTING_POSITION, :END_OF_QUEUE,
                     :NOT_GIVEN

    # Decides on a job and returns an {Admission}, whose `action` is what to do with the job. Never
    # waits.
    #
    # `id` names the job, 1 to 64 bytes. With a concurrency limit a repeated call for a running job
    # takes nothing; a job that waits keeps its queue position. Others pass it by that has not
    # called for `claim_timeout` after its turn, an interval, default {ADMISSION_CLAIM_TIMEOUT}; a
    # minute later the position is lost. A job that runs again after a failure must use another id.
    #
    # `priority`, `share` and `weight` order the jobs that wait; see {Limiter}.
    #
    # `on_limit` is the action for a job over the limit: `:wait`, `:reschedule` or `:drop`; `:raise`
    # and `:ignore` leave the reaction to the caller and take no ticket. The default is the action
    # of the document from which the limiter was loaded, otherwise `:wait`.
    def admit(id, on_limit: nil, cost: nil, estimate: nil, key: nil, settle_within: nil,
              claim_timeout: nil, priority: nil, share: nil, weight: nil)
      unless key.nil?
        return with_key(key).admit(id, on_limit: on_limit, cost: cost, estimate: estimate,
                                       settle_within: settle_within, claim_timeout: claim_timeout,
                                       priority: priority, share: share, weight: weight)
      end

      id = Value.text("id", id)
      on_limit = on_limit_name(on_limit)
      claim_timeout =
        claim_timeout.nil? ? NOT_GIVEN : Value.interval("claim_timeout", claim_timeout)
      order = Value.order(priority, share, weight)
      JobTurn.tell do
        buffer = CallBuffer.checkout
        request = buffer.request(cost, estimate, settle_within, order)
        sent_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        outputs = [buffer.admission, buffer.error]
        buffer.check(@functions.admit_within(@handle, id, on_limit, claim_timeout, request,
                                             *outputs))
        Admission.read(buffer.admission, self, sent_at, !estimate.nil?).tap { buffer.checkin }
      end
    end

    # Decides on several jobs of one unit each, in their order, and returns a list of {Admission}s.
    # All jobs run or none: when one cannot run, the units of the jobs before it are refunded, no
    # job takes a ticket, and every admission has the decision that refused. A throttle allows one
    # start at a time, so with a throttle several jobs are always refused together.
    #
    # With `partial` each job is decided by itself, as {#admit} does. After an error repeat the
    # call: jobs that already run are known by their ids.
    def admit_all(ids, on_limit: nil, partial: false, key: nil)
      return with_key(key).admit_all(ids, on_limit: on_limit, partial: partial) unless key.nil?

      Value.reject("must be a list", "ids", ids) unless ids.is_a?(Array)

      ids = ids.map { |id| Value.text("id", id) }
      return ids.map { |id| admit(id, on_limit: on_limit, cost: 1) } if partial

      JobTurn.tell { all_or_none(ids, on_limit_name(on_limit)) }
    end

    # Takes the cost, or otherwise a ticket in the queue under `id`. Returns a {Decision} whose
    # `status` is `:granted` or `:queued`; a queued one has `position`, `ready_after` where it is
    # known, and `retry_after`, the time until {#claim}.
    #
    # A ticket that is not claimed within `claim_timeout` after that time loses its queue position;
    # default {CLAIM_TIMEOUT}. With a `wait_timeout` the status is `:refused` when the wait is known
    # to be longer. `priority`, `share` and `weight` order the tickets; see {Limiter}.
    def enqueue(id, cost: nil, estimate: nil, claim_timeout: nil, wait_timeout: nil, key: nil,
                settle_within: nil, priority: nil, share: nil, weight: nil)
      wait = ticket_wait(claim_timeout, wait_timeout, END_OF_QUEUE)
      order = Value.order(priority, share, weight)
      enter_queue(id, cost, estimate, settle_within, wait, order, key)
    end

    # Retries the call of a ticket from {#enqueue}, ahead of new calls. Returns a {Decision} with
    # the status `:granted` or `:queued`, as {#enqueue} does, or `:no_ticket` without a ticket:
    # cancelled, lapsed or claimed before. A ticket keeps the place in the queue that its
    # {#enqueue} took.
    def claim(id, cost: nil, estimate: nil, claim_timeout: nil, wait_timeout: nil, key: nil,
              settle_within: nil, priority: nil, share: nil, weight: nil)
      wait = ticket_wait(claim_timeout, wait_timeout, EXISTING_POSITION)
      order = Value.order(priority, share, weight)
      enter_queue(id, cost, estimate, settle_within, wait, order, key)
    end

    # Removes the ticket from the queue, and ends the lease that it may have become. Returns
    # `:cancelled`, or `:unknown` when there was neither.
    def cancel(id, key: nil)
      cancel_ticket(Value.text("id", id), 0, key)
    end

    # Returns the ids of up to `count` queued jobs whose turn has come, in the order of the queue,
    # for a process that starts the jobs: a job that starts then calls {#admit} or {#claim}.
    #
    # It takes nothing. Each id is returned once, to one process, and the claim timeout of the job
    # begins then: after it those behind the job may pass. Calls that wait in {Limiter#acquire} are
    # left out, as is a job whose cost the limits no longer allow.
    #
    # While a process asks at least every 10 seconds, {#admit} tells a refused job to come back
    # after a minute instead of after an estimate, as do {#enqueue} and {#claim} with a
    # `claim_timeout` of a minute or more: the job makes one call to queue and one to run.
    #
    # `count` is from 1 to 100. Raises {InvalidError}, argument `count`.
    #
    #     workers.ready.each { |job| start(job) }
    def ready(count = MAX_READY, key: nil)
      count = Value.whole("count", count)
      for_key(key) { |one| one.call_ready(count).first }
    end

    # Yields the ids of queued jobs, each when its turn comes: {#ready} for a process that starts
    # jobs and has nothing else to do. Without a block returns an Enumerator.
    #
    # It sleeps until the next turn comes, over the connection of the wake-ups, and asks by itself
    # after at most 5 seconds. Each id comes once, to one process, and the job calls {#admit} or
    # {#claim} within its claim timeout.
    #
    # `count`, from 1 to 100, is how many turns one question returns at most: a loop that runs each
    # job itself before it takes the next turn asks for 1, since the others would wait for it. With
    # a `wait_timeout` the loop ends when no turn has come for so long. Raises {InvalidError},
    # argument `count` or `wait_timeout`, and the errors of a call.
    #
    #     workers.turns { |job| start(job) }
    def turns(count = MAX_READY, wait_timeout: nil, key: nil, &block)
      count = Value.whole("count", count)
      seconds = wait_timeout.nil? ? nil : Value.wait_timeout(wait_timeout)
      return to_enum(:turns, count, wait_timeout: wait_timeout, key: key) unless block

      for_key(key) { |one| Turns.new(one, count, seconds).each(&block) }
    end

    # @api private
    # Returns the ids, and the seconds until a host with an id and a channel asks again.
    def call_ready(count, host_id = "", channel = "")
      # The library refuses a higher count before it writes.
      ids = QUEUED_ID_SIZE * [count, MAX_READY].min.clamp(1..)
      memory = FFI::MemoryPointer.new(:char, ids + 8)
      buffer = CallBuffer.checkout
      host_id = "" if channel.empty?
      buffer.check(@functions.ready_for(@handle, host_id, channel, count, memory, buffer.result,
                                        memory + ids, buffer.error))
      found = buffer.result.get_uint64(0)
      buffer.checkin
      [Array.new(found) { |i| queued_id(memory, i * QUEUED_ID_SIZE) },
       memory.get_int64(ids) / 1_000_000.0]
    end

    private

    def queued_id(memory, start)
      length = memory.get_uint64(start + QUEUED_ID_LENGTH)
      memory.get_bytes(start, length).force_encoding(Encoding::UTF_8)
    end

    def on_limit_name(on_limit)
      Value.word("on_limit", on_limit.nil? ? @jobs_on_limit || :wait : on_limit)
    end

    def all_or_none(ids, on_limit)
      words, texts = Value.pointers(ids)
      memory = FFI::MemoryPointer.new(:char, Admission::SIZE * [ids.size, 1].max)
      buffer = CallBuffer.checkout
      sent_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      buffer.check(@functions.admit_all(@handle, words, texts.size, on_limit, 0, memory,
                                        buffer.error))
      buffer.checkin
      Array.new(ids.size) do |i|
        Admission.read(memory + (i * Admission::SIZE), self, sent_at, true)
      end
    end

    def enter_queue(id, cost, estimate, settle_within, wait, order, key)
      id = Value.text("id", id)
      for_key(key) { |one| one.acquire_with_id(id, cost, estimate, settle_within, wait, order) }
    end

    def ticket_wait(claim_timeout, wait_timeout, queue_position)
      claim_timeout = CLAIM_TIMEOUT if claim_timeout.nil?
      claim_timeout_us = Value.interval("claim_timeout", claim_timeout)
      Value.reject("must be more than 0", "claim_timeout", claim_timeout) if claim_timeout_us.zero?
      max_wait_us = wait_timeout.nil? ? -1 : Value.interval("wait_timeout", wait_timeout)
      [max_wait_us, claim_timeout_us, "", queue_position]
    end
  end
end

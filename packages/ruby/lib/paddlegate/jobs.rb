# frozen_string_literal: true

module Paddlegate
  # What a {Limiter} has for job systems, where no thread waits: a job keeps its place under an id.
  module Jobs
    # Seconds in which a ticket of {#enqueue} is to be claimed after its turn has come.
    CLAIM_TIMEOUT = Library::JOB_CLAIM_TIMEOUT

    EXISTING_POSITION = -1
    END_OF_QUEUE = 0
    private_constant :EXISTING_POSITION, :END_OF_QUEUE

    # Decides about a job: an {Admission}, whose `action` says what to do with it. Never waits.
    #
    # `id` names the job, 1 to 64 bytes. Asking again about one that runs takes nothing, and one
    # that waits keeps its place, for a minute after its time. A job that is tried again is asked
    # about under another id.
    #
    # `on_limit` is what becomes of a job that is over the limit: `:wait`, `:reschedule` or `:drop`;
    # `:raise` and `:ignore` leave that to the caller and take no place. By default what the
    # document says that the limiter was loaded from, else `:wait`.
    def admit(id, on_limit: nil, cost: nil, estimate: nil, at_us: nil)
      id = Value.text("id", id)
      on_limit = on_limit_name(on_limit)
      buffer = CallBuffer.checkout
      request = buffer.request(cost, estimate, at_us)
      sent_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      outputs = [buffer.admission, buffer.error]
      buffer.check(@functions.admit(@handle, id, on_limit, request, *outputs))
      admission = Admission.read(buffer.admission, self, sent_at, !estimate.nil?)
      buffer.checkin
      admission
    end

    # Decides about several jobs of one unit each, in their order: a list of {Admission}s. All run
    # or none: what was taken for the first is given back when a later one cannot run, none takes a
    # place in the queue, and each tells what refused. A throttle, which starts one at a time, lets
    # no two run together.
    #
    # With `partial` each is decided about by itself, as {#admit} does. After an error those that
    # run already are known by their ids: ask again.
    def admit_all(ids, on_limit: nil, partial: false)
      Value.reject("must be a list", "ids", ids) unless ids.is_a?(Array)

      ids = ids.map { |id| Value.text("id", id) }
      return ids.map { |id| admit(id, on_limit: on_limit, cost: 1) } if partial

      all_or_none(ids, on_limit_name(on_limit))
    end

    # Takes the cost, or else a place in the queue under `id`. A {Decision} whose `status` is
    # `:granted`; or `:queued`, with `position`, `ready_after` where it is known, and `retry_after`:
    # when to {#claim}.
    #
    # A ticket that is not claimed within `claim_timeout` after that, by default {CLAIM_TIMEOUT},
    # loses its place. With a `wait_timeout` it is `:refused` where it is known that this is not
    # enough.
    def enqueue(id, cost: nil, estimate: nil, claim_timeout: nil, wait_timeout: nil, at_us: nil)
      wait = ticket_wait(claim_timeout, wait_timeout, END_OF_QUEUE)
      acquire_with_id(Value.text("id", id), cost, estimate, at_us, wait)
    end

    # Asks with the ticket of {#enqueue}, before newcomers: `:granted` or `:queued` as there.
    #
    # `:gone` when it has no place: cancelled, lapsed, or claimed before.
    def claim(id, cost: nil, estimate: nil, claim_timeout: nil, wait_timeout: nil, at_us: nil)
      wait = ticket_wait(claim_timeout, wait_timeout, EXISTING_POSITION)
      acquire_with_id(Value.text("id", id), cost, estimate, at_us, wait)
    end

    # Leaves the queue: `:cancelled`, or `:unknown` when there was no ticket. A lease that it became
    # meanwhile ends too.
    def cancel(id, at_us: nil)
      cancel_ticket(Value.text("id", id), 0, at_us)
    end

    private

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

    def ticket_wait(claim_timeout, wait_timeout, queue_position)
      claim_timeout = CLAIM_TIMEOUT if claim_timeout.nil?
      claim_timeout_us = Value.interval("claim_timeout", claim_timeout)
      Value.reject("must be more than 0", "claim_timeout", claim_timeout) if claim_timeout_us.zero?
      max_wait_us = wait_timeout.nil? ? -1 : Value.interval("wait_timeout", wait_timeout)
      [max_wait_us, claim_timeout_us, "", queue_position]
    end
  end
end

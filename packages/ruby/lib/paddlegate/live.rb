# frozen_string_literal: true

module Paddlegate
  # Changes of a running {Limiter}, for all processes at once. `label` is the label of a limit, a
  # Symbol or a String; a policy with one limit needs none. `key` is that of a keyed limiter, whose
  # pauses, overrides and learned limits are of one key.
  module Live
    NOT_GIVEN = -1
    private_constant :NOT_GIVEN

    # Grants nothing for `duration`, an interval, or until `until`, a Time or a number of seconds
    # since 1970. A pause that ends later stays in force. Returns the {RuntimeState}.
    #
    # During the pause a refusal has the reason `:paused`, and its `retry_after` is the time to the
    # end of the pause; waiters continue to wait.
    def pause(duration = nil, until: nil, key: nil)
      times = deadline(duration, binding.local_variable_get(:until))
      command(key) { |handle, *outputs| @functions.pause(handle, *times, *outputs) }
    end

    # Refuses every call for `duration`, an interval, or until `until`, as {#pause} does, but with
    # the reason `:blocked`: for a key that was abused. A block that ends later stays in force, and
    # {#resume} ends it. Returns the {RuntimeState}.
    #
    #   login.block(:hour, key: "203.0.113.7")
    def block(duration = nil, until: nil, key: nil)
      times = deadline(duration, binding.local_variable_get(:until))
      command(key) { |handle, *outputs| @functions.block(handle, *times, *outputs) }
    end

    # Ends a pause and a block, counts refusals anew (`block_after` of {Factories}), and wakes the
    # waiters. Returns the {RuntimeState}.
    def resume(key: nil)
      command(key) { |handle, *outputs| @functions.resume(handle, *outputs) }
    end

    # Overrides one limit of the policy in every process: `limit`, in units of the kind, and an
    # `interval`. An argument that is not given keeps the value of this policy. Or overrides whole
    # `limits`, a Hash from labels to {Limit}s as in {Factories#limiter}: also labels that this
    # policy does not have, for every policy of the name that has such a limit. A lower limit ends
    # no lease; waiters get a wake-up. Returns the {RuntimeState}.
    #
    #   llm.override(limit: 50, label: :rpm, expires_in: :hour)
    #   llm.override(limits: { rpm: Paddlegate::Limit.window(50, :minute) })
    #
    # Or overrides the `mode` of every limiter of the name, `:shadow` or `:enforce`, whatever its
    # own; see {Factories}.
    #
    #   llm.override(mode: :shadow, expires_in: :hour)
    #
    # All overrides of the limiter end after `expires_in`, an interval, or at `expires_at`, a Time
    # or a number of seconds since 1970; otherwise when they are removed, or when no call was
    # granted for 90 days.
    def override(limit: nil, interval: nil, label: nil, limits: nil, mode: nil, expires_in: nil,
                 expires_at: nil, key: nil)
      expiry = [interval("expires_in", expires_in), time("expires_at", expires_at)]
      unless mode.nil?
        unless [limit, interval, label, limits].all?(&:nil?)
          raise InvalidError.new("give the mode or limits, not both", "mode")
        end

        return override_mode(Value.word("mode", mode), expiry, key)
      end
      unless limits.nil?
        unless [limit, interval, label].all?(&:nil?)
          raise InvalidError.new("give the numbers of one limit or limits, not both", "limits")
        end

        return override_limits(limits, expiry, key)
      end

      numbers = [label(label), units("limit", limit), interval("interval", interval), *expiry]
      command(key) { |handle, *outputs| @functions.override(handle, *numbers, *outputs) }
    end

    # Removes the override of one label, or with `mode: true` that of the mode; otherwise all
    # overrides. Returns the {RuntimeState}.
    def restore(label = nil, mode: false, key: nil)
      if Value.switch("mode", mode, false)
        raise InvalidError.new("give the mode or a label, not both", "mode") unless label.nil?

        return override_mode(nil, [NOT_GIVEN, NOT_GIVEN], key)
      end

      label = label(label)
      command(key) { |handle, *outputs| @functions.restore(handle, label, *outputs) }
    end

    # Returns the {RuntimeState}: the pause, the block, the overrides and the learned limits.
    # Changes nothing.
    def runtime_state(key: nil)
      command(key) { |handle, *outputs| @functions.runtime_state_get(handle, *outputs) }
    end

    # Applies an override document of Open Job Spec, a Hash or JSON with any of `concurrency`,
    # `rate`, `throttle` and `expires_at`. A member that is absent leaves its override unchanged,
    # and a null removes an override. A strategy that this limiter does not have is overridden for
    # the other policies of its name. Returns the {RuntimeState}.
    #
    # The message of an {InvalidError} contains the JSON path of a fault.
    def apply_ojs_override(document, key: nil)
      document = Value.json("document", document)
      command(key) do |handle, *outputs|
        @functions.apply_ojs_override(handle, document, *outputs)
      end
    end

    # Pauses the limiter if `document`, the failure of an Open Job Spec job as a Hash or JSON, is a
    # rate limit signal. Returns whether it is one; otherwise nothing changes.
    #
    # The later of `retry_after` and `rate_limit_until` applies, 30 seconds without either. A pause
    # that ends later stays in force.
    def apply_ojs_signal(document, key: nil)
      return for_key(key) { |one| one.apply_ojs_signal(document) } unless key.nil?

      document = Value.json("document", document)
      buffer = CallBuffer.checkout
      buffer.check(@functions.apply_ojs_signal(@handle, document, buffer.result, buffer.error))
      paused = buffer.result.get_int32(0) == 1
      buffer.checkin
      paused
    end

    # Applies the upstream's report on the budget behind one limit. Returns {Learned}.
    #
    # `remaining`: the remaining units upstream. `limit` and `interval`: the upstream's limit, which
    # applies in all processes from now on; `restore_rate`, in units per second, can replace the
    # interval. `reset_in` (an interval) or `reset_at` (a Time or seconds since 1970): the end of a
    # bucket's interval. `permit`: the {Permit} of the call that got the response, or its id; the
    # time of its grant distinguishes older reports from newer ones.
    def report_budget(remaining: nil, limit: nil, interval: nil, restore_rate: nil, reset_in: nil,
                      reset_at: nil, permit: nil, label: nil, key: nil)
      permit = Value.permit(permit) unless permit.nil?
      numbers = [label(label), units("remaining", remaining), units("limit", limit),
                 interval("interval", interval), rate(restore_rate), interval("reset_in", reset_in),
                 time("reset_at", reset_at)]
      report(key) do |handle, *outputs|
        @functions.report_budget(handle, permit, *numbers, *outputs)
      end
    end

    # Learns from the response of an upstream API, for all processes, in one round trip: corrects
    # the remaining units, learns new limits, and pauses after a refusal such as a 429. Returns
    # {Learned}. Unknown content is ignored.
    #
    # `headers`: a Hash or a list of pairs; a value may be a list. `body`: text, bytes, a Hash or
    # Array parsed from JSON, or a {StreamUsage}. `provider`: `:auto` (default), `:shopify`,
    # `:github`, `:discord`, `:linear`, `:stripe`, `:openai`, `:anthropic` or `:ietf`. `max_pause`:
    # the maximum pause, an interval; default one hour. `default_pause`: the pause after a refusal
    # that does not say for how long; default none. `max_learned`: the maximum number of units to
    # which a limit is raised; default ten times the policy's own limit. `permit`: the {Permit} of
    # the call, or its id; the cost in the response settles it. Without a `status`, a response
    # counts as a refusal only if it must be one by the provider's documentation.
    def learn_from_response(headers, body = "", status: nil, provider: :auto, max_pause: nil,
                            default_pause: nil, max_learned: nil, permit: nil, key: nil)
      words, texts = Upstream.headers(headers)
      body = Upstream.body(body)
      status = status.nil? ? NOT_GIVEN : Upstream.status(status)
      provider = Value.word("provider", provider)
      bounds = [interval("max_pause", max_pause), interval("default_pause", default_pause),
                units("max_learned", max_learned)]
      permit = Value.permit(permit) unless permit.nil?
      report(key) do |handle, *outputs|
        @functions.learn_from_response(handle, permit, provider, status, words, texts.size, body,
                                       body.bytesize, *bounds, *outputs)
      end
    end

    # Learns from the response of an HTTP client as {#learn_from_response} does: a
    # `Net::HTTPResponse`, a `Faraday::Response`, or any object with `status` (or `code`), `headers`
    # and `body`. Returns {Learned}.
    def learn_from_http(response, **options)
      status, headers, body = Upstream.response(response)
      learn_from_response(headers, body, status: status, **options)
    end

    private

    # Returns a span and a time in microseconds, one of which is not given.
    def deadline(duration, time)
      if duration.nil? && time.nil?
        raise InvalidError.new("is missing; give a duration or an end time", "duration")
      end

      [interval("duration", duration), time("until", time)]
    end

    def override_mode(mode, expiry, key)
      command(key) { |handle, *outputs| @functions.override_mode(handle, mode, *expiry, *outputs) }
    end

    def override_limits(limits, expiry, key)
      Policy.pack(limits) do |*array|
        command(key) do |handle, *outputs|
          @functions.override_limits(handle, *array, *expiry, *outputs)
        end
      end
    end

    def command(key)
      for_key(key) do |limiter|
        buffer = CallBuffer.checkout
        buffer.check(yield(limiter.handle, buffer.runtime_state, buffer.error))
        runtime_state = RuntimeState.read(buffer.runtime_state)
        buffer.checkin
        runtime_state
      end
    end

    def report(key)
      for_key(key) do |limiter|
        buffer = CallBuffer.checkout
        buffer.check(yield(limiter.handle, buffer.learned, buffer.error))
        learned = Learned.read(buffer.learned)
        buffer.checkin
        learned
      end
    end

    def label(label)
      Policy.label(label) unless label.nil?
    end

    def units(argument, value)
      value.nil? ? NOT_GIVEN : Value.whole(argument, value)
    end

    def interval(argument, value)
      value.nil? ? NOT_GIVEN : Value.interval(argument, value)
    end

    def time(argument, value)
      value.nil? ? NOT_GIVEN : Value.timestamp(argument, value)
    end

    # Returns the rate; 0 stands for "not given".
    def rate(rate)
      return 0.0 if rate.nil?

      rate = Value.seconds("restore_rate", rate).to_f
      rate.zero? ? Value.reject("must be more than 0", "restore_rate", rate) : rate
    end
  end
end

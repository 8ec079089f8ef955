# frozen_string_literal: true

module Paddlegate
  # What changes a {Limiter} while it runs, for all processes at once. `index` is which limit of the
  # policy, counted from 0. An unlimited limiter, or one that is paused by its policy, has nothing
  # that could be changed: orders are refused with {InvalidError}, reports change nothing.
  module Live
    NOT_GIVEN = -1
    private_constant :NOT_GIVEN

    # Grants nothing for `duration`, an interval, or `until` a Time or a number of seconds since
    # 1970. A pause that ends later stays as it is. Answers {RuntimeState}.
    #
    # A refusal then has the reason `:paused` and says in `retry_after` when the pause ends; who
    # waits goes on waiting.
    def pause(duration = nil, until: nil, at_us: nil)
      moment = binding.local_variable_get(:until)
      if duration.nil? && moment.nil?
        raise InvalidError.new("is missing; give a duration or an end time", "duration")
      end

      span = interval("duration", duration)
      moment = time("until", moment)
      order(at_us) { |at, *places| @verbs.pause(@handle, span, moment, at, *places) }
    end

    # Ends a pause, and calls those who wait. Answers {RuntimeState}.
    def resume(at_us: nil)
      order(at_us) { |at, *places| @verbs.resume(@handle, at, *places) }
    end

    # Puts other numbers before those of every policy: `limit` units (of whatever the kind counts)
    # and an `interval`. What is not given stays as this policy has it. A lower limit evicts nobody;
    # those who wait are called. Answers {RuntimeState}.
    #
    # All overrides of the limiter end after `expires_in`, an interval, or at `expires_at`, a Time
    # or a number of seconds since 1970; else when they are removed, or after 90 days in which
    # nobody is granted anything.
    def override(limit: nil, interval: nil, index: 0, expires_in: nil, expires_at: nil, at_us: nil)
      numbers = [Value.whole("index", index), units("limit", limit), interval("interval", interval),
                 interval("expires_in", expires_in), time("expires_at", expires_at)]
      order(at_us) { |at, *places| @verbs.override(@handle, *numbers, at, *places) }
    end

    # Ends the override of one limit, or of all. Answers {RuntimeState}.
    def restore(index = nil, at_us: nil)
      index = units("index", index)
      order(at_us) { |at, *places| @verbs.restore(@handle, index, at, *places) }
    end

    # What is in force beside the policies: {RuntimeState}. Changes nothing.
    def runtime_state(at_us: nil)
      order(at_us) { |at, *places| @verbs.runtime_state_get(@handle, at, *places) }
    end

    # Applies an override document of Open Job Spec, a Hash or JSON: `concurrency`, `rate`,
    # `throttle` and `expires_at`, or some of them. What it does not name stays as it is, and a null
    # ends an override. Answers {RuntimeState}.
    #
    # The message of an {InvalidError} names the place of a fault, also of a strategy that this
    # limiter does not have.
    def apply_ojs_override(document, at_us: nil)
      document = Value.json("document", document)
      order(at_us) { |at, *places| @verbs.apply_ojs_override(@handle, document, at, *places) }
    end

    # Pauses as the failure of a job of Open Job Spec says, a Hash or JSON: true; or false when it
    # is no signal of a rate limit, which changes nothing.
    #
    # The later of `retry_after` and `rate_limit_until` holds, 30 seconds without either; a pause
    # that ends later stays as it is.
    def apply_ojs_signal(document, at_us: nil)
      document = Value.json("document", document)
      exchange = Exchange.take
      at = exchange.time(at_us)
      exchange.check(@verbs.apply_ojs_signal(@handle, document, at, exchange.place, exchange.error))
      paused = exchange.place.get_int32(0) == 1
      exchange.give_back
      paused
    end

    # Takes over what upstream says of its budget. Answers {Learned}.
    #
    # `remaining`: the units that are left there. `limit` and `interval`: its numbers, which rule
    # from now on in all processes; instead of the interval `restore_rate` says how many units come
    # back in a second. `reset_in` (an interval) or `reset_at` (a Time or seconds since 1970): when
    # the interval of a bucket ends. `permit`: that of the call which upstream answered, or its id;
    # its time tells older reports from newer ones.
    def report_budget(remaining: nil, limit: nil, interval: nil, restore_rate: nil, reset_in: nil,
                      reset_at: nil, permit: nil, index: 0, at_us: nil)
      permit = Value.permit(permit) unless permit.nil?
      numbers = [Value.whole("index", index), units("remaining", remaining), units("limit", limit),
                 interval("interval", interval), rate(restore_rate), interval("reset_in", reset_in),
                 time("reset_at", reset_at)]
      told(at_us) { |at, *places| @verbs.report_budget(@handle, permit, *numbers, at, *places) }
    end

    # Takes over what the answer of an upstream API says of its budgets, in one round trip: corrects
    # what is left, learns new numbers, and pauses after a refusal such as a 429, for all processes.
    # Answers {Learned}. What is not understood says nothing.
    #
    # `headers`: a Hash or a list of pairs; a value may be a list. `body`: text, bytes, or what JSON
    # was parsed into. `provider`: `:auto` (the default), `:shopify`, `:github`, `:discord`,
    # `:linear`, `:stripe`, `:openai`, `:anthropic` or `:ietf`. `max_pause`: the longest pause, an
    # interval; an hour by default. `max_learned`: the most units that a limit is raised to; ten
    # times the policy's own by default. `permit`: that of the call, or its id, which is settled by
    # the cost that the answer tells. Without a `status` only an answer is a refusal that the
    # documents of the provider tie to one.
    def learn_from_response(headers, body = "", status: nil, provider: :auto, max_pause: nil,
                            max_learned: nil, permit: nil, at_us: nil)
      words, texts = Upstream.headers(headers)
      body = Upstream.body(body)
      status = status.nil? ? NOT_GIVEN : Upstream.status(status)
      provider = Value.word("provider", provider)
      bounds = [interval("max_pause", max_pause), units("max_learned", max_learned)]
      permit = Value.permit(permit) unless permit.nil?
      told(at_us) do |at, *places|
        @verbs.learn_from_response(@handle, permit, provider, status, words, texts.size, body,
                                   body.bytesize, *bounds, at, *places)
      end
    end

    # As {#learn_from_response}, from the answer of an HTTP client: a `Net::HTTPResponse`, a
    # `Faraday::Response`, or any object with `status` (or `code`), `headers` and `body`. Answers
    # {Learned}.
    def learn_from_http(response, **options)
      status, headers, body = Upstream.response(response)
      learn_from_response(headers, body, status: status, **options)
    end

    private

    def order(at_us)
      exchange = Exchange.take
      exchange.check(yield(exchange.time(at_us), exchange.runtime_state, exchange.error))
      runtime_state = RuntimeState.read(exchange.runtime_state)
      exchange.give_back
      runtime_state
    end

    def told(at_us)
      exchange = Exchange.take
      exchange.check(yield(exchange.time(at_us), exchange.learned, exchange.error))
      learned = Learned.read(exchange.learned)
      exchange.give_back
      learned
    end

    def units(argument, value)
      value.nil? ? NOT_GIVEN : Value.whole(argument, value)
    end

    def interval(argument, value)
      value.nil? ? NOT_GIVEN : Value.interval(argument, value)
    end

    def time(argument, value)
      value.nil? ? NOT_GIVEN : Value.moment(argument, value)
    end

    # 0 stands for "not given".
    def rate(rate)
      return 0.0 if rate.nil?

      rate = Value.seconds("restore_rate", rate).to_f
      rate.zero? ? Value.refuse("must be more than 0", "restore_rate", rate) : rate
    end
  end
end

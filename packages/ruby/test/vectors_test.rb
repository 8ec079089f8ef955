# frozen_string_literal: true

require "helper"

# Replays the shared vectors through the public interface, on both stores.
class VectorsTest < Minitest::Test
  include Helper

  # `waiting.json` has no limiters: see waiter_test.rb.
  VECTORS = Dir[File.join(REPOSITORY, "tests/vectors/*.json")].to_h do |path|
    document = JSON.parse(File.read(path))
    [document.fetch("name"), document.fetch("cases")]
  end.except("waiting")

  # A status that the vectors write in another way.
  STATUSES = { no_ticket: "gone" }.freeze

  CLOCK = Paddlegate::TestClock.new
  PREFIX = "ruby-#{SecureRandom.hex(6)}".freeze

  VECTORS.reject { |file, _| file == "errors" }.each do |file, cases|
    cases.each_with_index do |vector, index|
      %i[memory redis].each do |store|
        define_method("test_#{store}_#{file}: #{vector["title"]}") do
          name = "#{PREFIX}-#{file}-#{vector.fetch("name", index)}"
          Replay.new(self, VectorsTest.stores.fetch(store), name, vector).run
        end
      end
    end
  end

  # Shared by all cases, so that names which collide show.
  def self.stores
    @stores ||= { memory: Paddlegate::Store.new("memory://", clock: CLOCK),
                  redis: Paddlegate::Store.new(URL, timeout: 10, clock: CLOCK) }
  end

  def test_there_are_vectors
    assert_operator VECTORS.size, :>=, 5
    assert_includes VECTORS, "permits"
  end

  # One case.
  class Replay
    def initialize(test, store, name, vector)
      @test = test
      @store = store
      @name = name
      @vector = vector
      @permits = {}
      @key = {}
    end

    def run
      if @vector.key?("limiters")
        @each = Replay.limiters(@store, @name, @vector["limiters"])
      else
        @limiter = Replay.limiter(@store, @name, @vector["limits"])
      end
      @vector.fetch("steps").each.with_index(1) do |given, number|
        step = with_real_names(given)
        CLOCK.now_us = step["at_us"] if step.key?("at_us")
        answer = answer_or_error(step) do
          choose(step) if @each
          send("do_#{step.fetch("do")}", step)
        end
        next unless step.key?("expect")

        expected = step["expect"]
        expected = JSON.generate(expected) if expected.is_a?(Hash)
        @test.assert_equal [expected], [answer], "#{@vector["title"]}, step #{number}"
      end
    end

    # A single limit is made by the factory of its kind, several by the list, labels by a mapping.
    def self.limiter(store, name, limits, **options)
      labelled = limits.any? { |limit| limit.key?("label") }
      return store.limiter(name, mapping(limits), **options) if labelled

      rows = limits.map { |limit| row(limit) }
      return store.limiter(name, rows, **options) unless rows.size == 1

      kind, *numbers = rows.first
      options[:lock_timeout] = numbers.delete_at(1) if kind == "concurrency"
      options[:limit] = numbers.shift if kind == "throttle" && numbers[1]
      options.merge!(calendar(limits.first)) if kind == "quota"
      numbers = numbers.take(2) if kind == "quota"
      options[:refund] = numbers.delete_at(2) if limits.first["refund"]
      kind = "concurrent" if kind == "concurrency"
      store.public_send(kind, name, *numbers, **options)
    end

    def self.limiters(store, prefix, limiters)
      limiters.to_h do |given|
        name = "#{prefix}.#{given["name"]}"
        options = given.slice("keyed", "statistics", "mode").transform_keys(&:to_sym)
        options[:block_after] = block_after(given["block_after"])
        [given["name"], limiter(store, name, given["limits"], **options)]
      end
    end

    def self.block_after(rule)
      rule && [rule["refusals"], seconds(rule["within_us"]), seconds(rule["for_us"])]
    end

    def self.calendar(limit)
      limit.slice("timezone", "starts").transform_keys(&:to_sym)
    end

    def self.mapping(limits)
      limits.to_h do |limit|
        kind, *numbers = row(limit)
        [limit.fetch("label", kind), Paddlegate::Limit.new(kind, numbers)]
      end
    end

    def self.row(limit)
      numbers = [limit["amount"], limit["interval_us"], limit["offset_us"]]
      amount, interval, offset = numbers
      return [limit["kind"], amount, *limit.values_at("per", "timezone", "starts")] if limit["per"]

      [limit["kind"], *[amount, seconds(interval), seconds(offset), limit["refund"]].compact]
    end

    def self.seconds(micros)
      micros && (micros / 1_000_000.0)
    end

    private

    # Chooses the limiter that a step is of. The key of a single one is an option of its method, if
    # that takes one.
    def choose(step)
      of = step.fetch("of", @each.keys)
      @key = {}
      return @limiter = together(of, step) if of.is_a?(Array)

      @limiter = in_mode(of, step)
      return unless (key = step.dig("keys", of))

      if %w[enter cancel statistics history].include?(step["do"])
        @limiter = @limiter.with_key(key)
      else
        @key = { key: key }
      end
    end

    def together(names, step)
      limiters = names.map do |name|
        group = step.dig("groups", name)
        next @store.window("#{@name}.#{name}", 5, 60, group: group) if group

        key = step.dig("keys", name)
        key ? in_mode(name, step).with_key(key) : in_mode(name, step)
      end
      @store.together(*limiters)
    end

    # Returns the limiter of the case, or one of its name in the mode of the step.
    def in_mode(name, step)
      mode = step.dig("modes", name)
      return @each.fetch(name) unless mode

      given = @vector["limiters"].find { |limiter| limiter["name"] == name }
      Replay.limiters(@store, @name, [given.merge("mode" => mode)]).fetch(name)
    end

    def with_real_names(step)
      return step unless @each

      costs = step.slice("cost", "estimate", "actual").select { |_, cost| cost.is_a?(Hash) }
      real = @each.transform_values(&:name)
      step.merge(costs.transform_values { |cost| cost.transform_keys { real.fetch(_1, _1) } })
    end

    # The making of the limiter is all.
    def do_together(_step)
      nil
    end

    def do_acquire(step)
      decision = nil
      step.fetch("times", 1).times { decision = @limiter.try_acquire(**request(step)) }
      @last = decision
      @permits[step["permit"]] = decision.permit if step["permit"]
      json(decision)
    end

    def do_headers(step)
      JSON.generate(@last.headers(step["fields"]))
    end

    def do_caller_key(step)
      options = step.slice("forwarded_for", "trusted_proxies", "ipv6_prefix")
      Paddlegate.caller_key(step["address"], **options.transform_keys(&:to_sym))
    end

    def do_plain_key(step)
      Paddlegate.plain_key(step["text"] || [step["hex"]].pack("H*"))
    end

    # The call behind enqueue, claim and acquire.
    def do_enter(step)
      place = { nil => 0, "kept" => -1 }.fetch(step["place"], step["place"])
      wait = [step["patience_us"], step.fetch("grace_us", 0), "", place] if step["patience_us"]
      within = seconds(step["settle_within_us"])
      order = Paddlegate::Value.order(*step.values_at("priority", "share", "weight"))
      decision = @limiter.acquire_with_id(*step.values_at("id", "cost", "estimate"), within, wait,
                                          order)
      @permits[step["permit"]] = decision.permit if step["permit"]
      json_of_enter(decision)
    end

    def do_release(step)
      @limiter.release(permit(step), **@key).to_s
    end

    def do_renew(step)
      micros(@limiter.renew(permit(step), **@key))
    end

    def do_cancel(step)
      gave_up = step["gave_up"] ? 1 : 0
      @limiter.send(:cancel_ticket, step["id"], gave_up).to_s
    end

    def do_inspect(step)
      inspection = @limiter.inspection(**page(step))
      JSON.generate(
        at_us: inspection.at_us, limits: inspection.limits.map { limit_of(_1) },
        paused_for_us: micros(inspection.paused_for),
        blocked_for_us: micros(inspection.blocked_for), mode: inspection.mode,
        leases: inspection.leases.map { lease_of(_1) }, lease_count: inspection.lease_count,
        tickets: inspection.tickets.map { ticket_of(_1) }, ticket_count: inspection.ticket_count
      )
    end

    def do_queue(step)
      @limiter.queue(**page(step)).map { ticket_of(_1).transform_keys(&:to_s) }
    end

    def page(step)
      step.slice("offset", "count").transform_keys(&:to_sym).merge(@key)
    end

    def limit_of(limit)
      { label: limit.label, kind: limit.kind, limit: limit.limit,
        interval_us: micros(limit.interval), source: limit.source, taken: limit.taken,
        remaining: limit.remaining,
        next_after_us: micros(limit.next_after), reset_after_us: micros(limit.reset_after) }
    end

    def lease_of(lease)
      { id: lease.id, held_for_us: micros(lease.held_for), ends_in_us: micros(lease.ends_in),
        fence: lease.fencing_token }
    end

    def ticket_of(ticket)
      { id: ticket.id, priority: ticket.priority, share: ticket.share,
        waited_us: micros(ticket.waited), ready: ticket.ready }
    end

    def do_ready(step)
      @limiter.ready(*step["count"], **@key)
    end

    def do_statistics(_step)
      statistics = @limiter.stats.to_h
      %i[waits holds].each do |name|
        statistics[name] = statistics[name].reverse.drop_while(&:zero?).reverse
      end
      statistics.delete(:estimated_units) if statistics[:estimated_units] == statistics[:units]
      %i[shadow_refused refused_by waits degraded errors near_limit holds].each do |name|
        statistics.delete(name) if [0, {}, []].include?(statistics[name])
      end
      JSON.generate(statistics.to_h do |name, value|
        name.end_with?("_time") ? ["#{name}_us", micros(value)] : [name, value]
      end)
    end

    def do_history(_step)
      history = @limiter.history
      @test.assert_equal [60, 48], [history.minutes.size, history.hours.size]
      JSON.generate(history.to_h.transform_values { |entries| recorded(entries) })
    end

    def recorded(entries)
      fields = entries.map(&:to_h).reject { |entry| entry.values.drop(1).sum.zero? }
      fields.map { |entry| { start_us: micros(entry[:start]) }.merge(entry.except(:start)) }
    end

    def do_peek(step)
      json(@last = @limiter.peek(**request(step)))
    end

    def do_correct(step)
      @limiter.correct(permit(step), step["actual"], **@key).to_s
    end

    def do_extend(step)
      extension = @limiter.extend(permit(step), step["units"], **@key)
      return extension.to_s if extension.is_a?(Symbol)

      @permits[step.fetch("as", step["permit"])] = extension.permit if extension.allowed?
      json(extension)
    end

    def do_debit(step)
      json(@limiter.debit(step["cost"], **@key))
    end

    def do_refund(step)
      json(@limiter.refund(step["units"], **@key))
    end

    def do_pause(step)
      moment = step["until_us"]
      moment = Time.at(0, moment, :microsecond) if moment
      runtime_state { @limiter.pause(seconds(step["for_us"]), until: moment, **@key) }
    end

    def do_block(step)
      moment = step["until_us"]
      moment = Time.at(0, moment, :microsecond) if moment
      runtime_state { @limiter.block(seconds(step["for_us"]), until: moment, **@key) }
    end

    def do_mode(step)
      return runtime_state { @limiter.restore(mode: true, **@key) } if step["mode"].nil?

      expires_at = step["expires_at_us"] && (step["expires_at_us"] / 1_000_000r)
      runtime_state do
        @limiter.override(mode: step["mode"], expires_in: seconds(step["expires_in_us"]),
                          expires_at: expires_at, **@key)
      end
    end

    def do_resume(_step)
      runtime_state { @limiter.resume(**@key) }
    end

    def do_override(step)
      expires_at = step["expires_at_us"] && (step["expires_at_us"] / 1_000_000r)
      runtime_state do
        @limiter.override(limit: step["amount"], interval: seconds(step["interval_us"]),
                          label: step["label"], expires_in: seconds(step["expires_in_us"]),
                          expires_at: expires_at, **@key)
      end
    end

    def do_overrides(step)
      runtime_state do
        @limiter.override(limits: Replay.mapping(step["limits"]),
                          expires_in: seconds(step["expires_in_us"]), **@key)
      end
    end

    def do_restore(step)
      runtime_state { @limiter.restore(step["label"], **@key) }
    end

    def do_controls(_step)
      runtime_state { @limiter.runtime_state(**@key) }
    end

    def do_sync(step)
      reset_at = step["reset_at_us"] && (step["reset_at_us"] / 1_000_000r)
      told do
        @limiter.report_budget(remaining: step["remaining"], limit: step["amount"],
                               label: step["label"], reset_at: reset_at,
                               interval: seconds(step["interval_us"]),
                               reset_in: seconds(step["reset_in_us"]), permit: permit(step), **@key)
      end
    end

    def do_learn(step)
      told do
        @limiter.learn_from_response(step.fetch("headers", []), answer(step),
                                     permit: permit(step), status: step["status"],
                                     default_pause: seconds(step["default_pause_us"]),
                                     max_learned: step["max_learned"],
                                     provider: step.fetch("provider", "auto"), **@key)
      end
    end

    def do_reset(_step)
      @limiter.reset(**@key)
    end

    def do_limits(step)
      @limiter = Replay.limiter(@store, @name, step["limits"])
      nil
    end

    # The body, or the usage of a body that is fed in chunks.
    def answer(step)
      body, length = step.values_at("body", "chunk_bytes")
      return body || "" unless length

      usage = Paddlegate::StreamUsage.new
      body.bytes.each_slice(length) { |chunk| usage.feed(chunk.pack("C*")) }
      @test.assert_equal step["unread"], usage.ignored
      usage
    end

    def told
      learned = yield
      JSON.generate("settlement" => learned.settlement&.to_s, "learned" => learned.learned,
                    "ignored" => learned.ignored)
    end

    def runtime_state
      json_of_controls(yield)
    end

    # What the call answers; `nil` when it has the error that it should have.
    def answer_or_error(step)
      answer = yield
      @test.assert_nil step["error"], @vector["title"]
      answer
    rescue Paddlegate::InvalidError => e
      @test.assert_equal step["error"], e.argument, "#{@vector["title"]}: #{e.message}"
      nil
    end

    def permit(step)
      @permits.fetch(step["permit"], step["permit"])
    end

    def request(step)
      units = step.slice("cost", "estimate").transform_keys(&:to_sym)
      within = seconds(step["settle_within_us"])
      units[:limits] = true if step["describe"]
      within ? { **units, settle_within: within, **@key } : { **units, **@key }
    end

    def json(decision)
      JSON.generate(
        allowed: decision.allowed?, limit: decision.limit, remaining: decision.remaining,
        retry_after_us: micros(decision.retry_after), reset_after_us: micros(decision.reset_after),
        reason: decision.reason, label: decision.label, at_us: decision.at_us, **named(decision)
      )
    end

    # The keys of a lowered estimate, of a grant in shadow and of a decision of several limiters.
    def named(decision)
      { is_lowered: decision.lowered? || nil, would_refuse: decision.would_refuse,
        limiter: decision.limiter&.delete_prefix("#{@name}.") }.compact
    end

    def json_of_enter(decision)
      JSON.generate(
        status: STATUSES.fetch(decision.status, decision.status),
        limit: decision.limit, remaining: decision.remaining,
        retry_after_us: micros(decision.retry_after), reset_after_us: micros(decision.reset_after),
        reason: decision.reason, label: decision.label, at_us: decision.at_us,
        lease_us: micros(decision.lease), fence: decision.fencing_token, number: decision.ticket,
        position: decision.position, ready_after_us: micros(decision.ready_after), **named(decision)
      )
    end

    def json_of_controls(runtime_state)
      JSON.generate(
        version: runtime_state.version, paused_for_us: micros(runtime_state.paused_for),
        overrides: numbers(runtime_state.overrides),
        expires_in_us: micros(runtime_state.expires_in), learned: numbers(runtime_state.learned),
        **{ blocked_for_us: micros(runtime_state.blocked_for), mode: runtime_state.mode }.compact
      )
    end

    def numbers(limits)
      limits.map do |label, limit|
        { label: label, kind: limit[:kind], amount: limit[:amount],
          interval_us: micros(limit[:interval]) }
      end
    end

    def seconds(micros)
      Replay.seconds(micros)
    end

    def micros(seconds)
      seconds && (seconds * 1_000_000).round
    end
  end
end

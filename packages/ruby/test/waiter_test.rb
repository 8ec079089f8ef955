# frozen_string_literal: true

require "helper"

# Replays the rules of a waiting call, which all languages share.
class WaiterTest < Minitest::Test
  include Helper

  VECTORS = JSON.parse(File.read(File.join(REPOSITORY, "tests/vectors/waiting.json")))

  VECTORS.fetch("cases").each do |vector|
    define_method("test_#{vector["title"]}") do
      owns_id, max_wait_us, now_us = vector.values_at("owns_id", "max_wait_us", "now_us")
      waiter = Paddlegate::WaitState.of_call(owns_id, max_wait_us, seconds(now_us))
      replay(waiter, vector)
    end
  end

  VECTORS.fetch("jobs").each do |vector|
    define_method("test_#{vector["title"]}") do
      claim_timeout_us, patience_us, now_us =
        vector.values_at("claim_timeout_us", "patience_us", "now_us")
      replay(Paddlegate::WaitState.of_job(claim_timeout_us, patience_us, seconds(now_us)), vector)
    end
  end

  def test_there_are_vectors
    assert_operator VECTORS.fetch("cases").size, :>, 20
  end

  def test_pauses_between_connections
    VECTORS.fetch("reconnect_pauses_us").each.with_index do |pause, failures|
      assert_in_delta seconds(pause), Paddlegate::Library.reconnect_pause(failures), 1e-9
    end
  end

  private

  def replay(waiter, vector)
    vector.fetch("steps").each.with_index(1) do |step, number|
      answer = send("do_#{step.fetch("do")}", waiter, step)
      assert_equal [step["expect"]], [answer], "step #{number}" if step.key?("expect")
    end
  end

  def do_next(waiter, step)
    max_wait_us, claim_timeout_us, channel, ticket, keep_us =
      waiter.next(seconds(step["now_us"]), step["channel"])
    answer = { "max_wait_us" => max_wait_us, "ticket" => (ticket unless ticket.zero?) }
    if step["expect"].key?("channel")
      assert_equal [9_000_000, 60_000_000], [claim_timeout_us, keep_us]
      answer["channel"] = channel
    end
    answer
  end

  # A `pg_decision` with the fields that matter for a wait.
  def do_decision(waiter, step)
    status = { "refused" => 0, "granted" => 1, "queued" => 2 }.fetch(step["status"])
    bytes = "\0".b * Paddlegate::Decision::SIZE
    bytes[0, 4] = [status].pack("l")
    bytes[64, 8] = [step["retry_after_us"] || -1].pack("q")
    bytes[104, 8] = [step["ticket"] || -1].pack("q")
    bytes[728, 4] = [step["degraded"] ? 1 : 0].pack("l")
    waiter.on_decision(seconds(step["now_us"]), Paddlegate::Decision.new(bytes))
  end

  def do_error(waiter, step)
    counted = step.fetch("may_have_counted")
    waiter.on_error(Paddlegate::UnavailableError.new("gone", may_have_counted: counted))
  end

  def do_wakeup(waiter, step)
    waiter.on_wakeup(seconds(step["at_us"]))
  end

  def do_retry_at(waiter, step)
    (waiter.retry_at(step["channel"]) * 1_000_000).round
  end

  def do_must_cancel(waiter, step)
    waiter.must_cancel?(step["delivered"])
  end

  def seconds(micros)
    micros / 1_000_000.0
  end
end

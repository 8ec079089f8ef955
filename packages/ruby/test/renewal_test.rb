# frozen_string_literal: true

require "helper"

# Leases that are renewed while their holders exist.
class RenewalTest < Minitest::Test
  include Helper

  def test_leases_are_renewed_until_their_release
    limiter = redis.concurrent(unique, 3, lock_timeout: 2)
    held = Array.new(3) { limiter.acquire.tap { |permit| Paddlegate::Renewal.start(permit, self) } }
    eventually("all are renewed") do
      limiter.inspection.leases.count { |lease| lease.held_for + lease.ends_in > 2.1 } == 3
    end
    held.each { |permit| Paddlegate::Renewal.stop(permit, self) }
    assert_equal [:released] * 3, held.map(&:release)
    eventually("the thread ends") { renewing.nil? }
  end

  def test_what_nobody_holds_is_not_renewed
    limiter = redis.concurrent(unique, 10, lock_timeout: 0.5)
    Thread.new do
      10.times { Paddlegate::Renewal.start(limiter.acquire, Object.new) }
    end.join
    eventually("they end") do
      GC.start
      # The garbage collector may take a word that a stack has left for the last of them.
      limiter.stats.leases <= 2
    end
  ensure
    limiter.reset
  end

  def test_a_lost_lease_and_a_store_that_is_away_are_left_alone
    lost = redis.concurrent(unique, 1, lock_timeout: 0.5)
    permit = lost.acquire
    Paddlegate::Renewal.start(permit, self)
    lost.reset
    eventually("it is lost") { permit.lost? }
    eventually("the thread ends") { renewing.nil? }
    Paddlegate::Renewal.stop(permit, self)
    away = Paddlegate::Store.new("redis://127.0.0.1:1", timeout: 0.1)
                            .concurrent(unique, 1, on_unavailable: :fail_open)
    Paddlegate::Renewal.start(away.acquire, self)
    assert_nil renewing
  end

  def test_a_fork_renews_its_own
    limiter = redis.concurrent(unique, 2, lock_timeout: 2)
    held = limiter.acquire
    Paddlegate::Renewal.start(held, self)
    child = fork do
      own = limiter.acquire
      Paddlegate::Renewal.start(own, self)
      sleep(0.01) until limiter.inspection.leases.count { |it| it.ends_in + it.held_for > 2.1 } == 2
      Paddlegate::Renewal.stop(held, self)
      Paddlegate::Renewal.stop(own, self)
      own.release
      exit!(0)
    end
    Process.wait(child)
    assert_predicate Process.last_status, :success?
    Paddlegate::Renewal.stop(held, self)
    assert_equal :released, held.release
  end

  private

  def renewing
    Thread.list.find { |thread| thread.name == "paddlegate-renew" }
  end
end

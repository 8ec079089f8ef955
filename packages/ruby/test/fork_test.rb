# frozen_string_literal: true

require "helper"

# Parent and children go on after fork, whatever other threads were doing at that moment.
class ForkTest < Minitest::Test
  include Helper

  CHILDREN = Helper::SOAK ? 70 : 8
  TRIES = 20
  LIMIT = CHILDREN * TRIES / 2

  # Every child ends by itself, and together with the parent they get exactly the limit.
  PROGRAM = <<~RUBY.freeze
    require "paddlegate"
    url, name, case_name = ARGV
    children, tries, limit = #{CHILDREN}, #{TRIES}, #{LIMIT}
    clock = Paddlegate::TestClock.new(#{Helper::NOW})
    Paddlegate.configure { |c| c.url = url; c.timeout = 10; c.clock = clock }

    busy = []
    unless case_name == "unused"
      limiter = Paddlegate.bucket(name, limit, :day)
      limiter.peek
    end
    if case_name == "busy"
      other = Paddlegate.bucket(name + "-busy", 1, :second)
      busy = 3.times.map { Thread.new { loop { other.try_acquire; Paddlegate.unlimited } } }
    end

    granted = 0
    children.times do
      pid = fork do
        busy.clear
        limiter ||= Paddlegate.bucket(name, limit, :day)
        own = Paddlegate.bucket(name, limit, :day)
        count = (tries / 2).times.count { limiter.allow? }
        count += (tries / 2).times.count { own.allow? }
        GC.start
        exit(count)
      end
      granted += Process.wait2(pid).last.exitstatus.to_i
    end
    limiter ||= Paddlegate.bucket(name, limit, :day)
    left = limiter.allow?
    busy.each(&:kill).each(&:join)
    print granted, " ", left
  RUBY

  %w[unused used busy].each do |moment|
    define_method("test_#{moment}") do
      assert_equal "#{LIMIT} false", ruby(PROGRAM, {}, URL, unique("fork"), moment)
    end
  end

  # Children wait in turn by a connection of their own, whatever their parent was doing.
  WAITING = <<~RUBY.freeze
    require "paddlegate"
    url, name, moment = ARGV
    Paddlegate.configure { |c| c.url = url; c.timeout = 10 }

    limiter = Paddlegate.concurrent(name, 2, wait_timeout: 30) unless moment == "unused"
    threads = []
    if moment == "used"
      held = [limiter.acquire, limiter.acquire]
      waiter = Thread.new { limiter.within_limit { nil } }
      sleep(0.001) until limiter.stats.tickets == 1
      held.each(&:release)
      waiter.join
    elsif moment == "waiting"
      threads = 4.times.map { Thread.new { loop { limiter.within_limit { Thread.pass } } } }
    end

    wrong = #{CHILDREN}.times.count do
      pid = fork do
        Thread.new { sleep(40) && exit!(9) }
        limiter ||= Paddlegate.concurrent(name, 2, wait_timeout: 30)
        own = Paddlegate.concurrent(name, 2, wait_timeout: 30)
        values = 4.times.map { |i| Thread.new { [limiter, own][i % 2].within_limit { i } } }.map(&:value)
        GC.start
        exit!(values == [0, 1, 2, 3])
      end
      !Process.wait2(pid).last.success?
    end
    threads.each(&:kill).each(&:join)
    limiter ||= Paddlegate.concurrent(name, 2)
    print wrong, " ", limiter.stats.leases, " ", limiter.stats.tickets
  RUBY

  %w[unused used waiting].each do |moment|
    define_method("test_in_turn_#{moment}") do
      assert_equal "0 0 0", ruby(WAITING, {}, URL, unique("fork"), moment)
    end
  end

  # What a block holds is its parent's.
  def test_a_child_does_not_release_what_its_parent_holds
    limiter = memory.concurrent(unique, 1)
    limiter.within_limit do |permit|
      if (pid = fork)
        Process.wait(pid)
      else
        begin
          permit.release_after_block
        ensure
          exit!(permit.instance_variable_get(:@settlement).nil?)
        end
      end
      assert_predicate Process.last_status, :success?
    end
  end

  def test_memory_is_copied
    program = <<~RUBY
      require "paddlegate"
      limiter = Paddlegate::Store.new("memory://").window("b", 2, :day)
      busy = 3.times.map { Thread.new { loop { limiter.peek && Thread.pass } } }
      limiter.acquire
      10.times do
        pid = fork { exit(limiter.allow? && !limiter.allow? ? 0 : 1) }
        raise "a child failed" unless Process.wait2(pid).last.success?
      end
      busy.each(&:kill)
      print limiter.peek.remaining
    RUBY
    assert_equal "1", ruby(program)
  end
end

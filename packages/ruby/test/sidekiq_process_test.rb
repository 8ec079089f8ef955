# frozen_string_literal: true

require "sidekiq"
require "sidekiq/api"
require "helper"

ENV["REDIS_URL"] = Helper::URL
ENV.delete("PADDLEGATE_URL")
require "sidekiq_app"

# Real Sidekiq processes, with nothing but `require "paddlegate/sidekiq"`.
class SidekiqProcessTest < Minitest::Test
  include Helper

  # One case with real processes each time; the middleware has tests in sidekiq_middleware_test.rb,
  # and coming back at the turn in late_jobs_test.rb and sidekiq_planned_test.rb.
  JOBS = SOAK ? 1_000 : 30

  def setup
    Sidekiq.redis(&:flushdb)
    @log = Tempfile.new("sidekiq")
    @processes = []
  end

  def teardown
    @processes.dup.each { |pid| stop(pid) }
    puts File.read(@log.path) unless passed?
    @log.close!
  end

  def test_jobs_over_the_limit_run_later_each_once
    ids = Array.new(JOBS) { |number| Limited.perform_async(number) }
    first = start
    start
    eventually("a third has run") { ended.size > JOBS / 3 }
    stop(first)
    start
    eventually("all have run") { ended.size >= JOBS }
    assert_equal (0...JOBS).to_a, ended.map(&:first).sort, "none is lost, none runs twice"
    assert_equal ids.sort, ended.map(&:last).sort, "each with its id"
    assert_operator at_once, :<=, 3
    assert_equal [0, 0, 0], sizes
    eventually { logged("limited over rate limit, rescheduling for later") }
  end

  in_soak def test_jobs_come_back_when_their_turn_comes
    first = start
    start
    (0...JOBS).each { |number| Planned.perform_async(number) }
    eventually("a third has run") { runs.size > JOBS / 3 }
    stop(first)
    eventually("all have run") { runs.size >= JOBS }
    assert_equal (0...JOBS).to_a, runs.map(&:last).sort, "none is lost, none runs twice"
    # Ten a second; a machine that stalls may write the first notes late.
    assert_operator runs.last.first - runs.first.first, :>=, JOBS / 20
    asks = notes(Planned).size - JOBS
    assert_operator asks, :<=, 10 * JOBS, "a job asks few times"
    assert_equal [0, 0, 0], sizes
  end

  # Sidekiq forgets what a killed process had taken; that of the threads, and nothing else, is lost.
  in_soak def test_a_killed_process_loses_what_it_ran_and_its_slots_come_back
    2.times { start }
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    (0...JOBS).each { |number| Killed.perform_async(number, JOBS / 3) }
    eventually("all others have run") { numbers("end").size >= JOBS - 5 }
    eventually("nobody holds a slot") { Killed::LIMIT.stats.leases.zero? }
    eventually("none waits") { sizes == [0, 0, 0] }
    lost = [*0...JOBS] - numbers("end")
    assert_includes lost, JOBS / 3
    assert_equal numbers("end"), numbers("end").uniq, "none runs twice"
    most, early = outside_check(began)
    assert_operator most, :<=, 3
    refute early, "twenty a second"
    3.times { |number| Killed.perform_async(JOBS + number, -1) }
    eventually("slots are free again") { numbers("end").size >= JOBS - lost.size + 3 }
  end

  in_soak def test_a_job_that_gives_up_is_retried_by_sidekiq
    start
    id = Hopeless.perform_async
    eventually("it gave up") { Sidekiq::RetrySet.new.size == 1 }
    retried = Sidekiq::RetrySet.new.first
    assert_equal [id, 2, 0], [retried.jid, retried["overrated"], retried["retry_count"]]
    assert_equal "Paddlegate::Sidekiq::Limiter::OverLimit", retried["error_class"]
    assert_equal 3, notes(Hopeless).size
    # Sidekiq takes one from its count for a retry by hand.
    retried.retry
    eventually { notes(Hopeless).size > 3 && Sidekiq::RetrySet.new.size == 1 }
    assert_equal 6, notes(Hopeless).size, "it had its own reschedules"
  end

  in_soak def test_a_job_comes_back_when_the_server_does
    start
    id = Away.perform_async
    eventually("it ran") { notes(Away).any? }
    assert_equal [id], notes(Away).map(&:last)
    eventually { logged("rate limits unavailable, rescheduling for later: ") }
    eventually { sizes == [0, 0, 0] }
  end

  in_soak def test_an_error_of_another_library_and_one_that_is_no_limit
    start
    Foreign.perform_async("slow")
    Foreign.perform_async("wrong")
    eventually { notes(Foreign).size == 3 }
    eventually { sizes == [0, 0, 0] }
    assert_equal [%w[slow 1], %w[slow 2], %w[wrong 1]], notes(Foreign).map { _1.last(2) }.sort
    eventually { logged("SlowDown over rate limit, rescheduling for later") }
    eventually { logged("ArgumentError: wrong") }
  end

  def test_a_backoff_that_is_no_time_fails_the_job
    Sidekiq::Limiter.configure { |config| config.backoff = ->(*) { "soon" } }
    job = { "class" => "Limited", "jid" => "1", "args" => [] }
    assert_raises(Paddlegate::InvalidError) do
      Paddlegate::Sidekiq::Middleware.new.call(nil, job, "limited") { raise SlowDown }
    end
    assert_equal 0, Sidekiq::ScheduledSet.new.size
  ensure
    Sidekiq::Limiter.configure { |config| config.backoff = ->(*) { 0.2 } }
  end

  def test_a_job_that_changes_its_arguments_comes_back_as_it_came
    [-> { raise SlowDown }, -> { Away::AWAY.acquire }].each do |fails|
      job = { "class" => "Limited", "jid" => "1", "args" => [{ "account" => "acme" }, +"text"] }
      Paddlegate::Sidekiq::Middleware.new.call(nil, job, "limited") do
        job["args"].first.delete("account")
        job["args"].last << "more"
        fails.call
      end
    end
    args = Sidekiq::ScheduledSet.new.map(&:args)
    assert_equal [[{ "account" => "acme" }, "text"]] * 2, args
  end

  def test_the_limits_are_in_the_redis_of_sidekiq
    address = URI(URL)
    {
      { url: "#{URL.chomp("/")}/3" } => 3,
      { host: address.host, port: address.port, db: 4 } => 4
    }.each do |options, database|
      name = unique("own")
      program = <<~RUBY
        require "sidekiq"
        require "paddlegate/sidekiq"
        Sidekiq.configure_client { |config| config.redis = #{options.inspect} }
        Sidekiq::Limiter.bucket("#{name}", 5, :day).within_limit { print "ran" }
      RUBY
      environment = { "REDIS_URL" => "redis://127.0.0.1:1", "PADDLEGATE_URL" => nil }
      assert_match(/^ran\Z/, ruby(program.prepend("$VERBOSE = nil\n"), environment))
      store = Paddlegate::Store.new("#{URL.chomp("/")}/#{database}", timeout: 10)
      assert_equal 1, store.bucket(name, 5, :day).stats.granted
    end
  end

  def test_a_password_of_sidekiq_is_in_the_url
    {
      { url: "redis://:se%20c%2Fret@localhost:7000/2" } => "redis://:se%20c%2Fret@localhost:7000/2",
      { url: "rediss://me:secret@[::1]:7000" } => "rediss://me:secret@[::1]:7000/0",
      { url: "unix:///tmp/redis.sock", db: 5 } => "unix:///tmp/redis.sock?db=5",
      { url: "rediss://localhost:7000", ssl_params: { verify_mode: 0 } } =>
        "rediss://localhost:7000/0?ssl_cert_reqs=none",
      { url: "redis://:pw@main/2", name: "main", role: :master,
        sentinels: [{ host: "a", port: 7, password: "s" }, { host: "b", port: 8 }] } =>
        "redis+sentinel://:pw@a:7,b:8/main/2?sentinel_password=s"
    }.each do |options, url|
      found = ruby(<<~RUBY).lines.last
        $VERBOSE = nil
        require "sidekiq"
        require "paddlegate/sidekiq"
        Sidekiq.configure_client { |config| config.redis = #{options.inspect} }
        print Paddlegate::Sidekiq.module_eval { const_get(:RedisUrl) }.of_sidekiq
      RUBY
      assert_equal url, found
    end
  end

  private

  # Returns when each planned job ran, in seconds, and its number.
  def runs
    found = notes(Planned).select { |_, what, _| what == "runs" }
    found.map { |time, _, number| [time.to_i / 1_000_000_000.0, number.to_i] }
  end

  def start
    @processes << Process.spawn(
      RbConfig.ruby, "-I#{ROOT}/lib", "-I#{__dir__}", "-S", "sidekiq",
      "-r", "#{__dir__}/sidekiq_app.rb", "-q", "limited", "-c", "5", %i[out err] => [@log.path, "a"]
    )
    @processes.last
  end

  def stop(pid)
    return unless @processes.delete(pid)

    Process.kill("TERM", pid)
    Process.wait(pid)
  end

  def notes(job)
    Sidekiq.redis { |connection| connection.lrange("notes-#{job}", 0, -1) }.map(&:split)
  end

  # The numbers of the jobs of which the process that is killed or others noted that.
  def numbers(kind)
    notes(Killed).select { |_, what,| what == kind }.map { |_, _, number,| number.to_i }
  end

  # Returns how many ran at once, and whether more had begun at a time than may have.
  def outside_check(began)
    running = []
    most = begun = 0
    early = dead = nil
    notes(Killed).sort_by { |at,| at.to_i }.each do |at, what, number, pid|
      case what
      when "begin"
        running << [number, pid] unless pid == dead
        # A machine that stalls may note late, and never early.
        early ||= at.to_i - began < begun / 20 * 1_000_000_000
        begun += 1
      when "end" then running.delete([number, pid])
      else
        dead = pid
        running.reject! { |_, of| of == dead }
      end
      most = [most, running.size].max
    end
    [most, early]
  end

  # A process writes a line after what the line says.
  def logged(text)
    File.read(@log.path).include?(text)
  end

  # The number and the id of each job that has ended.
  def ended
    notes(Limited).select { |_, what,| what == "end" }.map { |_, _, number, id| [number.to_i, id] }
  end

  # How many ran at once, by what they noted.
  def at_once
    running = 0
    notes(Limited).sort_by { |at,| at.to_i }.map do |_, what,|
      running += what == "begin" ? 1 : -1
    end.max
  end

  # How many jobs are scheduled, to be retried and dead.
  def sizes
    [Sidekiq::ScheduledSet, Sidekiq::RetrySet, Sidekiq::DeadSet].map { |set| set.new.size }
  end
end

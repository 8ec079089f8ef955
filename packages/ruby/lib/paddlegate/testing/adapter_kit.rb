# frozen_string_literal: true

require "json"
require "minitest"
require "net/http"
require "rbconfig"
require "securerandom"
require "socket"
require "tmpdir"

require_relative "host"

module Paddlegate
  module Testing
    # The tests of an adapter for a server, also for one that we never named, by real HTTP:
    #
    #   require "minitest/autorun"
    #   require "paddlegate/testing/adapter_kit"
    #
    #   class HanamiTest < Minitest::Test
    #     include Paddlegate::Testing::AdapterKit
    #
    #     HOST = File.expand_path("hanami_host.rb", __dir__)
    #   end
    #
    # `HOST` is the program of a {Host}. It runs in three processes: one on its memory and two on
    # the Redis of `PADDLEGATE_TEST_URL`. Of a server that sends no body before it is whole,
    # `STREAMS` is `false`.
    module AdapterKit
      # All of the tests wait for something in seconds at most, and for nothing in a given time.
      PATIENCE = 60
      AT_ONCE = 200

      # A response, and the fields of a response.
      Response = Struct.new(:status, :fields, :body)

      # A process of a host.
      class Process
        attr_reader :port, :routes

        def initialize(program, url, prefix)
          @folder = Dir.mktmpdir
          @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
          @routes = Routes.new(url, prefix, @folder)
          environment = { Host::PORT => @port.to_s, Host::URL => url, Host::PREFIX => prefix,
                          Host::FOLDER => @folder }
          @log = File.join(@folder, "log")
          path = $LOAD_PATH.map { |folder| "-I#{folder}" }
          @pid = spawn(environment, RbConfig.ruby, "-w", *path, program, %i[out err] => @log)
        end

        # Returns once the host answers.
        def ready
          AdapterKit.eventually("the host listens") do
            ended = ::Process.wait(@pid, ::Process::WNOHANG)
            raise "the host has ended:\n#{File.read(@log)}" if ended

            TCPSocket.new("127.0.0.1", @port).close
            true
          rescue Errno::ECONNREFUSED
            false
          end
          self
        end

        def stop
          ::Process.kill(:TERM, @pid)
          ::Process.wait(@pid)
          FileUtils.remove_entry(@folder)
        end

        def get(path, fields = {})
          Net::HTTP.start("127.0.0.1", @port, max_retries: 0, read_timeout: PATIENCE) do |http|
            response = http.request(Net::HTTP::Get.new(path, fields))
            Response.new(response.code.to_i, response.to_hash.transform_values(&:first),
                         response.body)
          end
        end

        # Returns the statuses of several requests, one after the other.
        def statuses(path, count, fields = {})
          Array.new(count) { get(path, fields).status }
        end

        # Returns the status of a request whose response goes on, and yields its connection.
        def stream(path)
          TCPSocket.open("127.0.0.1", @port) do |socket|
            socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            status = line(socket).split[1].to_i
            nil until status != 200 || line(socket).include?("going on")
            yield socket if block_given?
            status
          end
        end

        private

        def line(socket)
          (socket.gets if socket.wait_readable(PATIENCE)) or raise "the body does not go on"
        end
      end

      # The processes of each program.
      @started = Hash.new do |started, program|
        Minitest.after_run { started.fetch(program).each(&:stop) }
        name = "kit-#{SecureRandom.hex(4)}-"
        urls = ["memory://", *[ENV.fetch("PADDLEGATE_TEST_URL")] * 2]
        started[program] = urls.map { |url| Process.new(program, url, name) }.each(&:ready)
      end

      class << self
        attr_reader :started
      end

      # Waits for a condition, which another process is about to make true.
      def self.eventually(what)
        deadline = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) + PATIENCE
        until yield
          raise "never: #{what}" if ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) > deadline

          sleep(0.01)
        end
      end

      def test_of_requests_at_once_exactly_the_limit_pass
        _, *on_redis = processes
        [[processes.first], on_redis].each do |group|
          statuses = Array.new(AT_ONCE) do |number|
            Thread.new { group[number % group.size].get("/exact").status }
          end.map(&:value)
          assert_equal({ 200 => 50, 429 => AT_ONCE - 50 }, statuses.tally)
        end
      end

      def test_a_refusal_is_a_problem_with_fields
        on_each do |host|
          granted, refused = Array.new(2) { host.get("/fields") }
          assert_equal [200, "ok\n"], [granted.status, granted.body]
          assert_nil granted.fields["retry-after"]
          [granted, refused].each do |response|
            assert_match(/\A"window";q=1;w=3600/, response.fields["ratelimit-policy"])
            assert_match(/\A"window";r=0;t=\d+/, response.fields["ratelimit"])
          end
          assert_equal 429, refused.status
          assert_operator refused.fields["content-type"], :start_with?, "application/problem+json"
          after = refused.fields["retry-after"].to_i
          assert_includes 1..3600, after
          assert_equal [429, after], JSON.parse(refused.body).values_at("status", "retry_after")
        end
      end

      def test_the_fields_are_chosen
        on_each do |host|
          { "x" => "x-ratelimit-limit", "6" => "ratelimit-limit" }.each do |fields, name|
            2.times { assert_equal "1", host.get("/fields-#{fields}").fields[name] }
          end
          granted, refused = Array.new(2) { host.get("/fields-none").fields }
          assert_empty(granted.keys.grep(/ratelimit|retry/))
          assert_equal(%w[retry-after], refused.keys.grep(/ratelimit|retry/))
        end
      end

      def test_cost_and_status
        on_each do |host|
          assert_equal [200, 200, 429], host.statuses("/cost", 3)
          assert_equal [200, 403], host.statuses("/status", 2)
        end
      end

      def test_each_key_has_its_limit_and_none_has_no_limit
        on_each do |host|
          assert_equal [200, 200, 429], host.statuses("/keys", 3, "X-Key" => "ann")
          assert_equal [200], host.statuses("/keys", 1, "X-Key" => "ben")
          assert_equal [200] * 4, host.statuses("/keys", 4)
        end
      end

      def test_a_strange_key_is_a_key
        on_each do |host|
          ["\xFF\xFE\x80".b, "k" * 600, ("\xC3\xA9" * 400).b, "\xC3".b].each do |key|
            assert_equal [200, 200, 429], host.statuses("/keys", 3, "X-Key" => key), key.inspect
          end
        end
      end

      def test_without_a_key_it_is_the_address_of_the_caller
        on_each do |host|
          assert_equal [200, 200, 429], host.statuses("/address", 3)
          forged = { "X-Forwarded-For" => "203.0.113.9" }
          assert_equal [429], host.statuses("/address", 1, forged), "nobody is trusted"
          %w[203.0.113.1 203.0.113.2].each do |address|
            through = { "X-Forwarded-For" => address }
            assert_equal [200, 200, 429], host.statuses("/proxied", 3, through)
          end
          of_one_network = %w[2001:db8::1 2001:db8::2 2001:db8::3].map do |address|
            host.get("/proxied", "X-Forwarded-For" => address).status
          end
          assert_equal [200, 200, 429], of_one_network
          assert_includes [200, 429], host.get("/proxied", "X-Forwarded-For" => "\xFF, ,".b).status
        end
      end

      def test_a_response_that_costs_nothing_is_given_back
        on_each { |host| assert_equal [404] * 3, host.statuses("/refund", 3) }
      end

      def test_shadow_refuses_nobody
        on_each { |host| assert_equal [200] * 3, host.statuses("/shadow", 3) }
        _, host = processes
        eventually("it is counted") { host.routes["/shadow"].stats.shadow_refused >= 2 }
      end

      def test_while_redis_is_away_the_mode_decides
        on_each do |host|
          found = %w[raise open closed local].to_h { |mode| [mode, host.statuses("/#{mode}", 2)] }
          assert_equal({ "raise" => [503, 503], "open" => [200, 200], "closed" => [429, 429],
                         "local" => [200, 429] }, found)
        end
      end

      def test_a_lease_ends_with_an_application_that_fails
        on_each { |host| assert_equal [500] * 3, host.statuses("/fails", 3) }
      end

      def test_a_lease_ends_with_the_body
        streaming do |host|
          host.stream("/lease") do |connection|
            assert_equal 429, host.get("/lease").status
            host.routes.open("/lease")
            connection.read
          end
          eventually("the lease is free") { host.get("/lease").status == 200 }
        end
      end

      def test_a_lease_ends_when_the_client_has_gone
        streaming do |host|
          host.stream("/endless") { assert_equal 429, host.get("/endless").status }
          eventually("the lease is free") { host.stream("/endless") == 200 }
        end
      end

      def test_a_lease_is_renewed_while_the_body_lasts
        streaming do |host|
          next if host.routes.memory?

          host.stream("/renewed") do
            eventually("the lease is renewed") do
              lease, = host.routes["/renewed"].inspection.leases
              lease.held_for + lease.ends_in > 3.1
            end
          end
          host.routes.open("/renewed")
        end
      end

      def test_a_request_waits_for_its_turn
        streaming do |host|
          waiter = nil
          host.stream("/waits") do
            waiter = Thread.new { host.get("/waits") }
            tickets = host.routes["/waits"]
            eventually("it waits") { host.routes.memory? || tickets.stats.tickets == 1 }
            host.routes.open("/waits")
          end
          assert_equal 200, waiter.value.status
        end
      end

      # Each test leaves nothing.
      def teardown
        super
        _, host = processes
        eventually("nothing is held") { host.routes.held.zero? }
      end

      private

      def processes
        AdapterKit.started[self.class::HOST]
      end

      # Yields the process on its memory, and one on Redis.
      def on_each(&block)
        processes.first(2).each(&block)
      end

      def streaming(&block)
        streams = !self.class.const_defined?(:STREAMS) || self.class::STREAMS
        on_each(&block) if streams
      end

      def eventually(what, &block)
        AdapterKit.eventually(what, &block)
      end
    end
  end
end

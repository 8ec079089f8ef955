# frozen_string_literal: true

require "helper"

# Limiters that a document defines; the formats are tested in the core.
class DocumentsTest < Minitest::Test
  include Helper

  LIMITS = {
    "limiters" => {
      "shopify" => { "points" => { "limit" => 1000, "refill" => "20s" }, "wait_timeout" => "3s" },
      "stripe" => { "concurrency" => { "limit" => 5 }, "window" => { "limit" => 7, "per" => 60 },
                    "on_limit" => "reschedule" },
      "reports" => { "window" => { "limit" => 1, "per" => "day" }, "wait_timeout" => 0,
                     "on_limit" => "ignore" }
    }
  }.freeze

  def test_a_document
    [LIMITS, JSON.generate(LIMITS)].each do |document|
      limiters = Paddlegate::Store.new("memory://").limiters_from_document(document)
      assert_equal %w[reports shopify stripe], limiters.keys.sort
      assert_equal limiters.keys, limiters.values.map(&:name)
      assert_equal [3.0, 5.0, 0.0],
                   limiters.values_at("shopify", "stripe", "reports").map(&:wait_timeout)
      assert_equal %i[raise reschedule ignore],
                   limiters.values_at("shopify", "stripe", "reports").map(&:on_limit)
      assert_equal 800, limiters["shopify"].try_acquire(estimate: 200).remaining
      assert_equal(:value, limiters["stripe"].within_limit { :value })
      reports = limiters["reports"]
      reports.within_limit { nil }
      assert_same(Paddlegate::SKIPPED, reports.within_limit { flunk })
      6.times { limiters["stripe"].within_limit { nil } }
      assert_raises(Paddlegate::OverLimit) { limiters["stripe"].within_limit { flunk } }
    end
  end

  def test_a_file_is_shared
    name = unique
    Tempfile.create(["limits", ".json"]) do |file|
      limits = { name => { "window" => { "limit" => 2, "per" => 60 } } }
      file.write(JSON.generate("limiters" => limits))
      file.close
      assert_predicate redis.load(file.path).fetch(name), :allow?
      output = ruby(<<~RUBY, { "PADDLEGATE_URL" => URL }, file.path)
        require "paddlegate"
        Paddlegate.configure { |c| c.timeout = 10 }
        print Paddlegate.load(ARGV[0]).map { |name, limiter| [name, limiter.try_acquire.remaining] }
      RUBY
      assert_equal [[name, 0]].inspect, output
    end
    refute redis.window(name, 2, :minute).allow?
  end

  def test_what_is_said_beside_a_document
    job = { "key" => "api", "concurrency" => 2 }
    limiter = memory.limiters_from_document(job, tenant: "acme", lock_timeout: 90).values.first
    assert_equal "ojs/tenant/acme/key/api", limiter.name
    assert_equal 90.0, limiter.try_acquire.lease
    guild = { "name" => "discord", "reservoir" => 5, "timeWindow" => 1000 }
    assert_equal ["guild/discord:7"], memory.limiters_from_document(guild, group: "7").keys
    wrong = { tenant: "acme" }
    error = assert_raises(Paddlegate::InvalidError) do
      memory.limiters_from_document(guild, **wrong)
    end
    assert_equal "tenant", error.argument
  end

  def test_limiters_outlive_the_document
    limiter = memory.limiters_from_document(LIMITS)["reports"]
    GC.start
    assert_predicate limiter, :allow?
    refute_predicate limiter, :allow?
  end

  def test_what_a_factory_makes_says_what_it_does
    assert_equal :raise, memory.unlimited.on_limit
    assert_equal :ignore, memory.unlimited("u", on_limit: :skip).on_limit
  end

  def test_faults_are_named_by_their_place
    wrong = { "limiters" => { "erp" => { "window" => { "limit" => 5, "per" => "decade" } } } }
    error = assert_raises(Paddlegate::InvalidError) { memory.limiters_from_document(wrong) }
    assert_equal "document", error.argument
    assert_includes error.message, "$.limiters.erp.window.per"
    [nil, 5, "", "{", "[]", {}, [], "\xff", "{}\0", { "a" => Float::NAN }].each do |bad|
      error = assert_raises(Paddlegate::InvalidError, bad.inspect) do
        memory.limiters_from_document(bad)
      end
      assert_equal "document", error.argument
    end
    assert_raises(Errno::ENOENT) { memory.load("/nonexistent/limits.json") }
  end
end

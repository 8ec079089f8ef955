# frozen_string_literal: true

require "helper"

# The shared cases of misuse.
class ErrorsTest < Minitest::Test
  include Helper

  CASES = JSON.parse(File.read(File.join(REPOSITORY, "tests/vectors/errors.json"))).fetch("cases")

  # Numbers that JSON does not have.
  NUMBERS = {
    "$nan" => Float::NAN, "$inf" => Float::INFINITY, "$-inf" => -Float::INFINITY, "$2^53" => 1 << 53
  }.freeze

  CLASSES = {
    "over_limit" => Paddlegate::OverLimit, "invalid" => Paddlegate::InvalidError,
    "unavailable" => Paddlegate::UnavailableError, "data" => Paddlegate::DataError,
    "internal" => Paddlegate::InternalError
  }.freeze

  CASES.each do |misuse|
    next if misuse.fetch("not_in", []).include?("ruby")

    define_method("test_#{misuse["title"]}") do
      rows = misuse["limits"].map { |limit| row(limit) }
      name = misuse.key?("name") ? misuse["name"] : unique("errors")
      if misuse["do"] == "limiter"
        refused(misuse) { memory.limiter(name, rows) }
        refused(misuse) { by_factory(name, rows.first) } if factory?(misuse, rows)
      else
        limiter = memory.limiter(name, rows)
        refused(misuse) { call(limiter, misuse) }
        look = limiter.peek(cost: 0)
        assert_equal [look.limit], [look.remaining], "nothing was changed"
      end
    end
  end

  private

  def refused(misuse, &block)
    expected = misuse["expect"]
    error = assert_raises(CLASSES.fetch(expected["kind"]), &block)
    assert_kind_of Paddlegate::Error, error
    argument = expected["argument"] == "now" ? "now_us" : expected["argument"]
    assert_equal argument, error.argument
    assert_includes error.message, argument
  end

  def factory?(misuse, rows)
    misuse["limits"].none? { |limit| limit.key?("label") } &&
      rows.size == 1 && Paddlegate::Factories.method_defined?(rows.first.first)
  end

  def by_factory(name, row)
    kind, *numbers = row
    return memory.throttle(name, numbers[1], limit: numbers[0]) if kind == "throttle" && numbers[1]

    memory.public_send(kind, name, *numbers)
  end

  def call(limiter, misuse)
    request = misuse.slice("cost", "estimate").to_h do |argument, value|
      [argument.to_sym, number(value)]
    end
    case misuse["do"]
    when "acquire" then limiter.try_acquire(**request)
    when "peek" then limiter.peek(**request)
    when "debit" then limiter.debit(number(misuse["cost"]))
    when "correct" then limiter.correct(misuse["permit"], number(misuse["actual"]))
    when "clock" then clock.now_us = misuse["now_us"]
    end
  end

  def row(limit)
    numbers = []
    numbers << number(limit["amount"]) if limit.key?("amount")
    numbers << number(limit["interval"]) if limit.key?("interval")
    numbers << (limit["interval_us"] / 1_000_000.0) if limit.key?("interval_us")
    numbers << (limit["offset_us"] / 1_000_000.0) if limit.key?("offset_us")
    return [limit["kind"], *numbers] unless limit.key?("label")

    Paddlegate::Limit.new(limit["kind"], numbers, limit["label"])
  end

  def number(value)
    return value.transform_values { |units| number(units) } if value.is_a?(Hash)

    NUMBERS.fetch(value, value)
  end
end

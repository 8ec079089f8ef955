# frozen_string_literal: true

require "minitest"

require_relative "../testing"

# Each test of Minitest begins anew, as {Paddlegate::Testing} says.
Minitest::Test.include(Module.new do
  def before_setup
    Paddlegate::Testing.reset
    super
  end
end)

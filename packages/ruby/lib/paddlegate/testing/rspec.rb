# frozen_string_literal: true

require "rspec/core"

require_relative "../testing"

# Each example begins anew, as {Paddlegate::Testing} says.
RSpec.configure do |config|
  config.prepend_before { Paddlegate::Testing.reset }
end

# frozen_string_literal: true

require "helper"
require "paddlegate/testing/adapter_kit"

# Requests to controllers of Rails that stream by a thread of their own, in Puma.
class RailsLiveTest < Minitest::Test
  include Helper
  include Paddlegate::Testing::AdapterKit

  ENV["CONTROLLER"] = "live"
  HOST = File.expand_path("rails_host.rb", __dir__)
end

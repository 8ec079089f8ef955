# frozen_string_literal: true

require_relative "../paddlegate"

module Paddlegate
  # Stand-ins for what Sidekiq Enterprise brings. They need no other gem, and no Sidekiq.
  module Sidekiq
    autoload :Limiter, File.expand_path("sidekiq/limiter", __dir__)
  end
end

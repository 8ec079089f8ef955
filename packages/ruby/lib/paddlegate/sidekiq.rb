# frozen_string_literal: true

require_relative "../paddlegate"

module Paddlegate
  # Replacements for parts of Sidekiq Enterprise. They need no other gem, not even Sidekiq.
  module Sidekiq
    autoload :Limiter, File.expand_path("sidekiq/limiter", __dir__)
  end
end

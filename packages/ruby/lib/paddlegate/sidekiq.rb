# frozen_string_literal: true

require_relative "../paddlegate"

module Paddlegate
  # Replacements for parts of Sidekiq Enterprise. They need no other gem. Where Sidekiq was loaded
  # before, they are installed: `Sidekiq::Limiter`, and in its server the {Middleware}.
  module Sidekiq
    autoload :Limiter, File.expand_path("sidekiq/limiter", __dir__)
    autoload :Middleware, File.expand_path("sidekiq/middleware", __dir__)
    autoload :RedisUrl, File.expand_path("sidekiq/redis_url", __dir__)
    private_constant :RedisUrl

    # Installs both into Sidekiq, for a program that loads Sidekiq later. A `Sidekiq::Limiter` that
    # is there stays.
    def self.install
      ::Sidekiq.const_set(:Limiter, Limiter) unless ::Sidekiq.const_defined?(:Limiter, false)
      ::Sidekiq.configure_server do |config|
        config.server_middleware { |chain| chain.prepend(Middleware) }
      end
    end
  end
end

Paddlegate::Sidekiq.install if defined?(Sidekiq) && Sidekiq.respond_to?(:configure_server)

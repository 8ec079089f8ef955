# frozen_string_literal: true

require "erb"

module Paddlegate
  module Sidekiq
    # The Redis that Sidekiq uses, by its connection: of the gem redis with Sidekiq 6, of the gem
    # redis-client with 7 and 8.
    module OwnRedis
      class << self
        # Returns its URL; `nil` without Sidekiq, and for one that no URL describes (Sentinel).
        def url
          return unless defined?(::Sidekiq) && ::Sidekiq.respond_to?(:redis)

          ::Sidekiq.redis { |connection| url_of(settings(connection)) }
        end

        private

        def settings(connection)
          return connection._client.options if connection.respond_to?(:_client)

          config = connection.config
          return if config.respond_to?(:sentinels)

          { host: config.host, port: config.port, path: config.path, db: config.db,
            username: config.username, password: config.password,
            scheme: config.ssl? ? "rediss" : "redis" }
        end

        def url_of(settings)
          return if settings.nil? || settings[:sentinels]

          db = settings[:db] || 0
          return "unix://#{settings[:path]}?db=#{db}" if settings[:path]

          scheme = settings[:scheme] == "rediss" ? "rediss" : "redis"
          "#{scheme}://#{login(settings)}#{host(settings)}:#{settings[:port]}/#{db}"
        end

        def host(settings)
          host = settings[:host]
          host.include?(":") && !host.start_with?("[") ? "[#{host}]" : host
        end

        def login(settings)
          user, password = settings.values_at(:username, :password)
          return if password.nil?

          user = nil if user == "default"
          "#{[user, password].map { |it| ERB::Util.url_encode(it.to_s) }.join(":")}@"
        end
      end
    end
  end
end

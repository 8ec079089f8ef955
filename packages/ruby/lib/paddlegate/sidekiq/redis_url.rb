# frozen_string_literal: true

require "uri"
require_relative "url_text"

module Paddlegate
  module Sidekiq
    # @api private
    # Makes URLs of what describes a Redis elsewhere: Sidekiq's own Redis, a pool of connections, or
    # the options of a client.
    module RedisUrl
      # The options that a URL has.
      OPTIONS = %i[host port path db username password ssl scheme ssl_params sentinels name role
                   sentinel_username sentinel_password].freeze

      SCHEMES = %w[redis rediss valkey valkeys].freeze
      private_constant :SCHEMES

      class << self
        # Returns the URL of the Redis that Sidekiq uses; `nil` without Sidekiq.
        def of_sidekiq
          return unless defined?(::Sidekiq) && ::Sidekiq.respond_to?(:redis)

          ::Sidekiq.redis { |connection| of_connection(connection) }
        end

        # Returns the URL of the connections of a pool, which has `with`.
        def of_pool(pool)
          pool.with { |connection| of_connection(connection) }
        end

        # Returns the URL of options as a Redis client takes them: a `url` alone as it is, otherwise
        # with the others in the place of its parts; `nil` for none of both.
        def of_options(url: nil, **parts)
          return url if parts.empty?

          UrlText.new(url.nil? ? parts : parts_of(url).merge(parts)).to_s
        end

        private

        # A connection of the gem redis 4 has a client with options, one of redis-client a config.
        def of_connection(connection)
          return of_connection(connection.raw) if connection.respond_to?(:raw)

          client = connection.respond_to?(:_client) ? connection._client : connection
          return UrlText.new(client.options).to_s if client.respond_to?(:options)

          UrlText.new(parts_of_config(client.config)).to_s
        end

        def parts_of_config(config)
          parts = { username: config.username, password: config.password, db: config.db,
                    ssl: config.ssl?, ssl_params: config.ssl_params }
          return parts.merge(address_of(config), path: config.path) unless
            config.respond_to?(:sentinels)

          parts.merge(name: config.name, sentinels: config.sentinels.map { |it| address_of(it) })
        end

        def address_of(config)
          { host: config.host, port: config.port, username: config.username,
            password: config.password }
        end

        def parts_of(url)
          uri = URI.parse(url)
          return UrlText.reject("url that is not of one redis://") unless
            SCHEMES.include?(uri.scheme)

          user, password = [uri.user, uri.password].map { |it| unescaped(it) }
          db = uri.path.to_s.delete_prefix("/")
          { host: uri.host, port: uri.port, scheme: uri.scheme, username: user, password: password,
            db: db.empty? ? nil : db, query: uri.query }.compact
        rescue URI::InvalidURIError
          UrlText.reject("url that is not of one redis://")
        end

        def unescaped(text)
          text&.gsub(/%\h\h/) { |escape| escape[1, 2].hex.chr }&.force_encoding(Encoding::UTF_8)
        end
      end
    end
  end
end

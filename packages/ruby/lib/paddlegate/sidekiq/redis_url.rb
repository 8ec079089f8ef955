# frozen_string_literal: true

require "erb"
require "uri"

module Paddlegate
  module Sidekiq
    # @api private
    # Makes URLs of what describes a Redis elsewhere: Sidekiq's own Redis, a pool of connections, or
    # the options of a client.
    module RedisUrl
      # The options that a URL has.
      OPTIONS = %i[host port path db username password ssl scheme].freeze

      SCHEMES = %w[redis rediss valkey valkeys].freeze
      private_constant :SCHEMES

      class << self
        # Returns the URL of the Redis that Sidekiq uses; `nil` without Sidekiq, and for one that no
        # URL describes (Sentinel).
        def of_sidekiq
          return unless defined?(::Sidekiq) && ::Sidekiq.respond_to?(:redis)

          ::Sidekiq.redis { |connection| of_connection(connection) }
        end

        # Returns the URL of the connections of a pool, which has `with`; `nil` as {of_sidekiq}.
        def of_pool(pool)
          pool.with { |connection| of_connection(connection) }
        end

        # Returns the URL of options as a Redis client takes them: a `url` alone as it is, otherwise
        # with the others in the place of its parts; `nil` for none of both.
        def of_options(url: nil, **parts)
          return url if parts.empty?

          of_parts(url.nil? ? parts : parts_of(url).merge(parts))
        end

        private

        # A connection of the gem redis has a client with options, one of redis-client a config.
        def of_connection(connection)
          return of_client(connection._client.options) if connection.respond_to?(:_client)
          return of_connection(connection.raw) if connection.respond_to?(:raw)

          config = connection.config
          return if config.respond_to?(:sentinels)

          of_parts({ host: config.host, port: config.port, path: config.path, db: config.db,
                     username: config.username, password: config.password, ssl: config.ssl? })
        end

        def of_client(options)
          of_parts(options) unless options[:sentinels]
        end

        def of_parts(parts)
          db = whole("db", parts[:db] || 0)
          return "unix://#{parts[:path]}?db=#{db}" if parts[:path]

          scheme = parts[:ssl] || %w[rediss valkeys].include?(parts[:scheme]) ? "rediss" : "redis"
          "#{scheme}://#{login(parts)}#{host(parts)}:#{whole("port", parts[:port] || 6379)}/#{db}"
        end

        def parts_of(url)
          uri = URI.parse(url)
          return reject("url that is not of one redis://") unless SCHEMES.include?(uri.scheme)

          user, password = [uri.user, uri.password].map { |it| unescaped(it) }
          db = uri.path.to_s.delete_prefix("/")
          { host: uri.host, port: uri.port, scheme: uri.scheme, username: user, password: password,
            db: db.empty? ? nil : db }.compact
        rescue URI::InvalidURIError
          reject("url that is not of one redis://")
        end

        def unescaped(text)
          text&.gsub(/%\h\h/) { |escape| escape[1, 2].hex.chr }&.force_encoding(Encoding::UTF_8)
        end

        def whole(name, value)
          Integer(value.to_s, 10, exception: false) || reject("#{name} that is no whole number")
        end

        # Without the value, which may be a secret.
        def reject(what)
          raise InvalidError.new("has a #{what}", "redis")
        end

        def host(parts)
          host = (parts[:host] || "127.0.0.1").to_s
          host.include?(":") && !host.start_with?("[") ? "[#{host}]" : host
        end

        def login(parts)
          user, password = parts.values_at(:username, :password)
          return if password.nil?

          user = nil if user == "default"
          "#{[user, password].map { |it| ERB::Util.url_encode(it.to_s) }.join(":")}@"
        end
      end
    end
  end
end

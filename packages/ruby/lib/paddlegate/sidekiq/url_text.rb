# frozen_string_literal: true

require "erb"
require "openssl"

module Paddlegate
  module Sidekiq
    # @api private
    # The text of a URL, of the options of a Redis client.
    class UrlText
      # The files of `ssl_params`, and the options of a URL that name them.
      FILES = { ca_file: "ssl_ca_certs", cert: "ssl_certfile", key: "ssl_keyfile" }.freeze
      private_constant :FILES

      # Without the value, which may be a secret.
      def self.reject(what)
        raise InvalidError.new("has a #{what}", "redis")
      end

      def initialize(parts)
        @parts = parts
      end

      def to_s
        db = whole("db", parts[:db] || 0)
        return "unix://#{parts[:path]}?db=#{db}" if parts[:path]

        query = [parts[:query], *login_of_sentinels, *certificates].compact.join("&")
        "#{scheme}://#{login}#{place}/#{db}#{"?" unless query.empty?}#{query}"
      end

      private

      attr_reader :parts

      def reject(what) = self.class.reject(what)

      def escape(text) = ERB::Util.url_encode(text.to_s)

      def whole(name, value)
        Integer(value.to_s, 10, exception: false) || reject("#{name} that is no whole number")
      end

      def tls?
        parts[:ssl] || %w[rediss valkeys].include?(parts[:scheme])
      end

      def scheme
        "redis#{"s" if tls?}#{"+sentinel" if sentinels}"
      end

      def login
        user, password = parts.values_at(:username, :password)
        return if password.nil?

        user = nil if user == "default"
        "#{[user, password].map { |it| escape(it) }.join(":")}@"
      end

      # The gem redis 4 has the name of the master as the host.
      def place
        return address(parts, 6379) unless sentinels

        reject("role that is not master") unless [nil, "master"].include?(parts[:role]&.to_s)
        name = parts[:name] || parts[:host] || reject("list of sentinels without a name")
        "#{sentinels.map { |it| address(it, 26_379) }.join(",")}/#{escape(name)}"
      end

      def address(of, port)
        host = (of[:host] || "127.0.0.1").to_s
        host = "[#{host}]" if host.include?(":") && !host.start_with?("[")
        "#{host}:#{whole("port", of[:port] || port)}"
      end

      def sentinels
        return if parts[:sentinels].nil?

        @sentinels ||= parts[:sentinels].map { |it| it.to_h.transform_keys(&:to_sym) }
        @sentinels.empty? ? reject("list of sentinels that is empty") : @sentinels
      rescue NoMethodError, TypeError
        reject("list of sentinels that is no list of hosts and ports")
      end

      def login_of_sentinels
        return unless sentinels

        user, password = parts.values_at(:sentinel_username, :sentinel_password)
        first = sentinels.first
        { sentinel_username: user || (first[:username] unless first[:username] == "default"),
          sentinel_password: password || first[:password] }
          .filter_map { |name, value| "#{name}=#{escape(value)}" unless value.nil? }
      end

      # As for a Redis client, they count only with TLS.
      def certificates
        params = (parts[:ssl_params] || {}).compact
        return unless tls?

        params.filter_map do |name, value|
          case [name.to_sym, value]
          in [:ca_file | :cert | :key => file, String] then "#{FILES[file]}=#{escape(value)}"
          in [:verify_mode, OpenSSL::SSL::VERIFY_NONE] then "ssl_cert_reqs=none"
          in [:verify_mode, OpenSSL::SSL::VERIFY_PEER] then nil
          else reject("ssl_params other than verify_mode and names of files: #{name}")
          end
        end
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../../paddlegate"

module Paddlegate
  module Testing
    # A path of the {Host} of an adapter, which keeps it within its limiter.
    #
    # `options` are those of {RequestLimit}, as the host passes them on. With `keyed` the key is the
    # field `X-Key` of the request, and `nil` without one.
    Route = Struct.new(:path, :limiter, :options, :keyed, :work) do
      # Returns the status of a granted request and its body, a list of texts or an object whose
      # `each` yields them as it goes on. Raises an error for the path of an application that fails.
      def answer
        work ? work.call : [200, ["ok\n"]]
      end
    end

    # The {Route}s of the adapter kit. They are the same in the kit and in the process of the host.
    class Routes
      include Enumerable

      # Where nobody listens.
      AWAY = "redis://127.0.0.1:1"
      private_constant :AWAY

      # `prefix` begins the names of the limiters; in `folder` are the files that end the streams.
      def initialize(url, prefix, folder)
        @store = Store.new(url, timeout: 10)
        @away = Store.new(AWAY, timeout: 0.2)
        @prefix = prefix
        @folder = folder
        @leases = leases
        @routes = [*windows, *@leases, *away]
      end

      def memory?
        @store.memory?
      end

      # Returns how many leases and tickets there are.
      def held
        @leases.sum { |route| route.limiter.stats.to_h.values_at(:leases, :tickets).sum }
      end

      def each(&block)
        @routes.each(&block)
      end

      # Returns the limiter of a path.
      def [](path)
        @routes.find { |route| route.path == path }.limiter
      end

      # Lets the streams of a path end.
      def open(path)
        File.write(gate(path), "")
      end

      private

      def windows
        [window("exact", 50), window("fields"), window("fields-x", fields: :x),
         window("fields-6", fields: :"draft-6"), window("fields-none", fields: nil),
         window("status", status: 403), window("cost", 5, cost: 2),
         window("keys", 2, keyed: true).tap { |it| it.keyed = true },
         window("address", 2, keyed: true),
         window("proxied", 2, keyed: true, trusted_proxies: %w[127.0.0.1 ::1]),
         window("shadow", mode: :shadow),
         window("refund", refund_if: ->(status) { status == 404 }) { [404, ["none\n"]] }]
      end

      def leases
        [leased("lease") { [200, stream("lease")] },
         leased("waits", wait: 30) { [200, stream("waits")] },
         leased("renewed", lock_timeout: 3) { [200, stream("renewed")] },
         leased("endless") { [200, stream("never")] }, leased("fails") { raise "as it should" }]
      end

      def away
        { "raise" => :raise, "open" => :fail_open, "closed" => :fail_closed, "local" => :local }
          .map do |path, mode|
            Route.new("/#{path}", @away.window(@prefix + path, 1, :hour, on_unavailable: mode), {})
          end
      end

      def window(path, limit = 1, keyed: nil, mode: nil, **options, &work)
        limiter = @store.window(@prefix + path, limit, :hour, keyed: keyed, mode: mode)
        Route.new("/#{path}", limiter, options, false, work)
      end

      def leased(path, lock_timeout: nil, **options, &work)
        limiter = @store.concurrent(@prefix + path, 1, lock_timeout: lock_timeout)
        Route.new("/#{path}", limiter, options, false, work)
      end

      # A body that goes on until its gate is open or nobody reads it.
      def stream(path)
        Enumerator.new do |body|
          until File.exist?(gate("/#{path}"))
            body << "going on\n"
            sleep(0.01)
          end
          body << "ended\n"
        end
      end

      def gate(path)
        File.join(@folder, path)
      end
    end
  end
end

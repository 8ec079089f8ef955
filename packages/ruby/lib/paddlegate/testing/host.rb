# frozen_string_literal: true

require_relative "routes"

module Paddlegate
  module Testing
    # The process of a server whose adapter is tested by an {AdapterKit}, which starts it. Its
    # program serves each of {routes} at {port} of `127.0.0.1`:
    #
    #   Paddlegate::Testing::Host.routes.each do |route|
    #     # At route.path, within route.limiter with route.options, and with the field X-Key as the
    #     # key if route.keyed:
    #     status, body = route.answer
    #   end
    module Host
      # What the environment of the program has.
      PORT, URL, PREFIX, FOLDER =
        %w[PORT URL PREFIX FOLDER].map { |name| "PADDLEGATE_KIT_#{name}" }

      # Returns the port at which the program listens.
      def self.port
        Integer(ENV.fetch(PORT))
      end

      # Returns the {Routes}.
      def self.routes
        Routes.new(*ENV.values_at(URL, PREFIX, FOLDER))
      end
    end
  end
end

# frozen_string_literal: true

require "sidekiq/web"
require_relative "../sidekiq"
require_relative "web/chart"
require_relative "web/listed_limiter"
require_relative "web/limiter_list"

module Paddlegate
  module Sidekiq
    # The tab "Limits" of `Sidekiq::Web`, in the place of that of Sidekiq Enterprise. In
    # config/routes.rb:
    #
    #   require "paddlegate/sidekiq/web"
    #
    # It lists the limiters of the store of {Limiter.configure}, those of other languages too. The
    # page of a limiter has its limits, metrics, history, leases and waiting calls, and can pause,
    # resume and delete it. For Sidekiq 6, 7 and 8.
    module Web
      TAB = "Limits"
      PATH = "limits"

      class << self
        # Adds the tab. `require` does that; a second call adds nothing.
        def install
          return if @installed

          @installed = true
          return register_since73 if ::Sidekiq::Web.respond_to?(:configure)

          ::Sidekiq::Web.register(self)
          ::Sidekiq::Web.tabs[TAB] = PATH
        end

        # @api private
        # Called by Sidekiq with its application.
        def registered(app)
          app.get("/#{PATH}") do
            erb(Web.template(:limits), locals: { list: LimiterList.new(request.params) })
          end
          app.get("/#{PATH}/limiter") do
            limiter = ListedLimiter.find(request.params) || halt(404)
            erb(Web.template(:limiter), locals: { limiter: limiter })
          end
          app.post("/#{PATH}/limiter") do
            limiter = ListedLimiter.find(request.params) || halt(404)
            redirect(root_path + limiter.run(request.params))
          end
        end

        # @api private
        # Returns the text of a template.
        def template(name)
          @templates ||= {}
          @templates[name] ||= File.read(File.expand_path("web/#{name}.erb", __dir__)).freeze
        end

        private

        def register_since73
          ::Sidekiq::Web.configure do |config|
            config.register(self, name: "paddlegate", tab: TAB, index: PATH)
          end
        end
      end
    end
  end
end

Paddlegate::Sidekiq::Web.install

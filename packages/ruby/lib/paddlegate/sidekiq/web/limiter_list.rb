# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Web
      # @api private
      # A page of the list of limiters, those whose names begin with a text if one is given.
      class LimiterList
        attr_reader :prefix, :limiters

        def initialize(params)
          @prefix = ListedLimiter.text(params["prefix"])
          @page = page(ListedLimiter.text(params["cursor"]))
          @limiters = @page.limiters.map { |info| ListedLimiter.new(info) }
        end

        # Returns the path of the next page behind that of the root; `nil` on the last page.
        def next_path
          return if @page.cursor.nil?

          "#{PATH}?#{URI.encode_www_form(prefix: prefix, cursor: @page.cursor)}"
        end

        private

        # A cursor that is none, as from a changed address, is the first page; with a prefix that no
        # name can have there is no limiter.
        def page(cursor)
          Limiter.store.limiter_page(prefix: prefix, cursor: cursor.empty? ? nil : cursor)
        rescue InvalidError => e
          return LimiterPage.new([].freeze, nil) unless e.argument == "cursor"

          Limiter.store.limiter_page(prefix: prefix)
        end
      end
    end
  end
end

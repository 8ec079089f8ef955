# frozen_string_literal: true

module Paddlegate
  module Sidekiq
    module Web
      # @api private
      # A chart of the entries of a {History}: a bar for each, the granted calls below the refused.
      # Without styles and scripts, which Sidekiq's page does not allow everywhere.
      class Chart
        HEIGHT = 80
        WIDTH = 10
        GRANTED = "#2f7d4f"
        REFUSED = "#c0392b"

        Bar = Struct.new(:x, :y, :height, :colour)
        private_constant :Bar

        attr_reader :title

        # `format` is that of the times, as in `Time#strftime`.
        def initialize(title, format, entries)
          @title = title
          @format = format
          @entries = entries
        end

        def width
          WIDTH * @entries.size
        end

        # Returns one sentence for those who do not see the bars.
        def summary
          granted, refused = %i[granted refused].map { |count| @entries.sum(&count) }
          "#{title}, from #{time(@entries.first)} UTC: #{granted} granted, #{refused} refused, " \
            "at most #{most} calls in one"
        end

        # Yields for each entry with calls what it counted, in words, and its bars.
        def each_column
          @entries.each_with_index do |entry, i|
            yield(words(entry), bars(entry, i)) if calls(entry).positive?
          end
        end

        # Returns the time of an entry and its numbers, the newest first, for those with calls.
        def rows
          counted = @entries.select { |entry| calls(entry).positive? }
          counted.reverse.map do |entry|
            [time(entry), entry.granted, entry.refused, entry.waited, entry.units]
          end
        end

        private

        def calls(entry)
          entry.granted + entry.refused
        end

        def most
          @most ||= @entries.map { |entry| calls(entry) }.max || 0
        end

        def bars(entry, index)
          granted, refused = [entry.granted, entry.refused].map { |count| scaled(count) }
          x = WIDTH * index
          bars = [Bar.new(x, HEIGHT - granted, granted, GRANTED),
                  Bar.new(x, HEIGHT - granted - refused, refused, REFUSED)]
          bars.reject { |bar| bar.height.zero? }
        end

        def scaled(count)
          (HEIGHT * count.fdiv(most)).round(2)
        end

        def time(entry)
          Time.at(entry.start).utc.strftime(@format)
        end

        def words(entry)
          "#{time(entry)}: #{entry.granted} granted, #{entry.refused} refused, " \
            "#{entry.waited} waited, #{entry.units} units"
        end
      end
    end
  end
end

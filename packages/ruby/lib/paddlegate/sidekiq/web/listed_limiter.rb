# frozen_string_literal: true

require "uri"

module Paddlegate
  module Sidekiq
    module Web
      # @api private
      # A limiter as the list of limiters has it, in any language, and what its page shows and does.
      class ListedLimiter
        # What the page shows, by the names that Sidekiq gives the metrics of its limiters.
        METRICS = {
          "Held" => :granted, "Held time" => :held_time, "Immediate" => :immediate,
          "Waited" => :waited, "Wait time" => :wait_time, "Overages" => :overages,
          "Reclaimed" => :reclaimed, "Refused" => :refused, "Units" => :units,
          "Corrections" => :corrections, "Lapsed" => :lapsed, "Shadow refused" => :shadow_refused,
          "Near a limit" => :near_limit
        }.freeze

        class << self
          # Returns the limiter that a request names; `nil` for one that is not in the list.
          def find(params)
            name, group = %w[name group].map { |key| text(params[key]) }
            keyed = text(params["keyed"]) == "1"
            found = Limiter.store.limiters(prefix: name).find do |info|
              info.name == name && info.group.to_s == group && info.keyed == keyed
            end
            found && new(found, text(params["key"]))
          rescue InvalidError
            # No limiter can have such a name.
          end

          # Returns a parameter of a request as text; empty for none, for a list and for a text that
          # is no UTF-8.
          def text(value)
            value = value.is_a?(String) ? value.dup.force_encoding(Encoding::UTF_8) : ""
            value.valid_encoding? ? value : ""
          end
        end

        attr_reader :key

        def initialize(info, key = "")
          @info = info
          @key = key
        end

        def name
          @info.name
        end

        def keyed?
          @info.keyed
        end

        # Returns the group, the mode where it is not the default one, and whether there are keys.
        def notes
          [@info.group && "group #{@info.group}", ("keyed" if keyed?),
           (@info.mode.to_s unless @info.mode == :enforce)].compact.join(", ")
        end

        # Returns each limit as last used, in words.
        def limits
          @info.limits.map do |limit|
            label, kind, amount = limit.values_at(:label, :kind, :amount)
            named = label.to_s == kind.to_s ? kind.to_s : "#{label} (#{kind})"
            "#{named}: #{amount} #{span_of(limit)}".strip
          end
        end

        # Returns when it was last used; `nil` when the store does not record it.
        def last_used
          @info.last_used && Time.at(@info.last_used).utc.strftime("%Y-%m-%d %H:%M UTC")
        end

        def statistics
          @statistics ||= limiter(all_keys: true).stats
        end

        # Returns the names and values of the metrics, then those of each label that has refused.
        def metrics
          shown = METRICS.transform_values { |metric| statistics.public_send(metric) }
          shown.merge!(statistics.refused_by.transform_keys { |label| "Refused by #{label}" })
          shown.transform_values { |value| number(value) }
        end

        # Returns the charts of the history: the minutes and the hours.
        def charts
          history = limiter(all_keys: true).history
          [Chart.new("The last 60 minutes", "%H:%M", history.minutes),
           Chart.new("The last 48 hours", "%d %b %H:%M", history.hours)]
        end

        # Returns what the limiter contains now; `nil` for a keyed limiter without a key, and where
        # no limit of the list can be looked at: this process does not know the time zone.
        def inspections
          return if keyed? && key.empty? || policies.empty?

          @inspections ||= policies.map { |limits| limiter(limits).inspection }
        rescue InvalidError
          nil
        end

        # Runs the command of a form, and returns the path of the page that shows the result.
        def run(params)
          one = limiter
          case params["command"]
          when "pause" then one.pause(seconds(params["seconds"]))
          when "resume" then one.resume
          when "delete" then one.reset
          end
          path
        rescue InvalidError
          # A key or a time that is none: nothing has changed, as the page shows.
          path
        end

        # Returns the path of the page of the limiter behind that of the root.
        def path
          "#{PATH}/limiter?#{URI.encode_www_form(identity)}"
        end

        # Returns what a form has to send.
        def identity
          { name: name, group: @info.group.to_s, keyed: keyed? ? "1" : "",
            key: key }.reject { |_, value| value.empty? }
        end

        # Returns a number with at most three digits behind the point.
        def number(value)
          value.is_a?(Float) ? value.round(3).to_s.delete_suffix(".0") : value.to_s
        end

        # Returns a time in seconds as text.
        def span(seconds)
          seconds.nil? ? "" : "#{number(seconds)} s"
        end

        private

        # Statistics and history are of the name, whatever its limits are.
        def limiter(limits = policies.first || { window: [1, 1] }, all_keys: false)
          one = Limiter.store.limiter(name, limits, group: @info.group, ttl: @info.ttl,
                                                    keyed: keyed?, mode: @info.mode)
          keyed? && !all_keys ? one.with_key(key) : one
        end

        # Returns a policy for each limit: a name may have more than one policy can have.
        def policies
          @policies ||= @info.limits.filter_map { |limit| limit_of(limit) }.map { |one| [one].to_h }
        end

        def limit_of(limit)
          label, kind, amount, interval, offset = limit.values_at(:label, :kind, :amount, :interval,
                                                                  :offset)
          made = case kind
                 when :concurrency then Limit.concurrency(amount, lock_timeout: interval)
                 when :bucket then Limit.bucket(amount, interval, offset)
                 when :throttle then Limit.throttle(interval, limit: amount)
                 when :quota then limit[:per] && quota_of(limit)
                 else Limit.public_send(kind, amount, interval)
                 end
          made && [label, made]
        end

        def quota_of(limit)
          Limit.quota(limit[:amount], limit[:per], timezone: limit[:timezone],
                                                   starts: limit[:starts])
        end

        def span_of(limit)
          case limit[:kind]
          when :concurrency then "at once, each #{span(limit[:interval])} at most"
          when :quota then limit[:per] ? "per #{limit[:per]}" : ""
          else "per #{span(limit[:interval])}"
          end
        end

        def seconds(text)
          Float(text, exception: false) || raise(InvalidError.new("must be a number", "seconds"))
        end
      end
    end
  end
end

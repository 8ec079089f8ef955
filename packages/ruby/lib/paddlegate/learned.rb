# frozen_string_literal: true

module Paddlegate
  # The result of an upstream report: which values changed the limiter, which did not, and why. A
  # value that the limiter already had is in neither list. Frozen.
  #
  # - `settlement`: the settlement of the permit, as {Limiter#correct} returns it; `nil` when the
  #   report had no actual cost of a permit
  # - `learned`: the values that changed: "limit", "interval", "remaining", "reset" and "pause";
  #   with several limits the label of the limit follows, as in "remaining[rpm]"
  # - `ignored`: the values that changed nothing, with the reason: "remaining: calls are open"
  # - `cost`: the actual cost of the call, as the response reports it; otherwise `nil`
  # - `pause`: the pause that the response asks for, in seconds (Float); otherwise `nil`
  # - `scope`: the scope of a refusal: `:user`, `:shared`, or `:global`, which applies to all
  #   limiters of this API; `nil` when the response has no scope. Only Discord reports it.
  # - `bucket`: the upstream's name of the budget that counted the call. Only Discord reports it.
  Learned = Struct.new(:settlement, :learned, :ignored, :cost, :pause, :scope, :bucket) do
    # @api private
    # Reads a `pg_learned`.
    def self.read(memory)
      settlement, cost, pause, scope, bucket, learned, ignored =
        memory.get_bytes(0, self::SIZE).unpack("l x4 q q Z16 Z136 Z512 Z4096")
      lists = [learned, ignored].map { |list| text(list).split("\n").each(&:freeze).freeze }
      new(Library::SETTLEMENTS[settlement], *lists, (cost unless cost == -1),
          (pause / 1_000_000.0 unless pause == -1), (scope.to_sym unless scope.empty?),
          (text(bucket).freeze unless bucket.empty?)).freeze
    end

    def self.text(bytes)
      bytes.force_encoding("UTF-8")
    end
    private_class_method :text
  end

  # The size of a `pg_learned`.
  Learned::SIZE = 24 + 16 + 136 + 512 + 4096
end

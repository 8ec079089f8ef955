# frozen_string_literal: true

module Paddlegate
  # What became of what an upstream says: which things have changed, and which have not, and why.
  # What was known already is in neither list. Frozen.
  #
  # - `settlement`: what became of the permit, as {Limiter#correct} answers; `nil` when no cost of a
  #   permit was told
  # - `learned`: what has changed, of "limit", "interval", "remaining", "reset" and "pause"; with
  #   several limits the index of the limit follows, as in "remaining[1]"
  # - `ignored`: what was said and changed nothing, with the reason: "remaining: calls are open"
  # - `cost`: what the call did cost, as the answer says; else `nil`
  # - `pause`: seconds (Float) that the answer asks to pause; else `nil`
  # - `scope`: of whom a refusal is, `:user`, `:shared`, or `:global`, which concerns all limiters
  #   of this API; `nil` when the answer does not say. Only Discord does.
  # - `bucket`: what the upstream calls the budget that counted the call. Only Discord does.
  Learned = Struct.new(:settlement, :learned, :ignored, :cost, :pause, :scope, :bucket) do
    # @api private
    # From a `pg_learned`.
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

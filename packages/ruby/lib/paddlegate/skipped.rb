# frozen_string_literal: true

# The return value of {Paddlegate::Limiter#within_limit} when it skipped its block, over the limit
# with `on_limit: :ignore`.
Paddlegate::SKIPPED = Object.new.tap do |skipped|
  def skipped.inspect
    "Paddlegate::SKIPPED"
  end

  def skipped.to_s
    inspect
  end
end.freeze

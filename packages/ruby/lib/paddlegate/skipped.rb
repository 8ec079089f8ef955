# frozen_string_literal: true

# What {Paddlegate::Limiter#within_limit} returns in place of the value of its block when the
# limiter has `policy: :ignore` and the block was not run.
Paddlegate::SKIPPED = Object.new.tap do |skipped|
  def skipped.inspect
    "Paddlegate::SKIPPED"
  end

  def skipped.to_s
    inspect
  end
end.freeze

# frozen_string_literal: true

require "helper"
require "paddlegate/sidekiq"

module Sidekiq
  # With Sidekiq it is there.
  Limiter = Paddlegate::Sidekiq::Limiter unless const_defined?(:Limiter, false)
end

# A configuration of its own for each test, on an empty memory store.
module SidekiqHelper
  include Helper

  def setup
    @config = Sidekiq::Limiter.config
    Sidekiq::Limiter.configure { |config| config.redis = { url: "memory://" } }
  end

  def teardown
    Sidekiq::Limiter.configure do |config|
      config.redis = @config.redis
      config.backoff = @config.backoff
      config.reschedule = @config.reschedule
      config.errors.replace(@config.errors)
    end
  end

  def on_redis
    Sidekiq::Limiter.configure { |config| config.redis = { url: Helper::URL, timeout: 10 } }
  end

  def over_limit(&block)
    assert_raises(Sidekiq::Limiter::OverLimit, &block)
  end
end

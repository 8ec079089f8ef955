# frozen_string_literal: true

require "helper"
require "action_controller"
require "action_dispatch"

require "paddlegate/rails"
require "paddlegate/testing/adapter_kit"

# Requests to controllers of Rails, in Puma.
class RailsTest < Minitest::Test
  include Helper
  include Paddlegate::Testing::AdapterKit

  ENV["CONTROLLER"] = "plain"
  HOST = File.expand_path("rails_host.rb", __dir__)
end

# The options of `limited_by`.
class RailsOptionsTest < Minitest::Test
  include Helper

  def test_actions_and_conditions_are_those_of_callbacks
    limiter = memory.window(unique, 1, :hour)
    controller = controller do
      limited_by limiter, only: :create, unless: -> { params[:free] }
      define_method(:create) { head(:ok) }
      define_method(:index) { head(:ok) }
    end
    assert_equal [200, 200], Array.new(2) { get(controller, :index).status }
    assert_equal [200, 429], Array.new(2) { get(controller, :create).status }
    assert_equal 200, get(controller, :create, "/?free=1").status
  end

  def test_procs_run_in_the_controller
    limiter = memory.window(unique, 1, :hour, keyed: true)
    controller = controller do
      limited_by limiter, key: -> { user }, skip: -> { user == "root" },
                          over_limit: ->(decision) { render(plain: "#{user} #{decision.reason}") }
      define_method(:show) { render(plain: "ok") }
      define_method(:user) { params[:user] }
    end
    get(controller, :show, "/?user=ann")
    refused = get(controller, :show, "/?user=ann")
    assert_equal [429, "ann window"], [refused.status, refused.body]
    assert_includes 1..3600, refused["Retry-After"].to_i
    statuses = %w[ben root root].map { |user| get(controller, :show, "/?user=#{user}").status }
    assert_equal [200] * 3, statuses
    assert_equal [200] * 2, Array.new(2) { get(controller, :show).status }, "no user, no limit"
  end

  def test_several_limits_in_their_order
    first = memory.concurrent(unique, 5)
    second = memory.window(unique, 1, :hour)
    parent = controller { limited_by first }
    child = Class.new(parent) do
      limited_by second, over_limit: ->(_) {}
      define_method(:show) { head(:ok) }
    end
    granted, refused = Array.new(2) { get(child, :show) }
    assert_equal [200, 429], [granted, refused].map(&:status)
    assert_match(/q=1;w=3600/, granted["RateLimit-Policy"])
    assert_equal [0, 2], first.stats.to_h.values_at(:leases, :granted)
  end

  def test_a_status_that_costs_nothing_may_be_of_a_rescued_error
    limiter = memory.window(unique, 1, :hour)
    controller = controller do
      limited_by limiter, refund_if: ->(status) { status == 404 }
      rescue_from(IndexError) { head(:not_found) }
      define_method(:show) { raise(IndexError) }
    end
    assert_equal [404] * 3, Array.new(3) { get(controller, :show).status }
    assert_equal 0, limiter.stats.units
  end

  def test_a_redirect_by_an_earlier_callback_costs_nothing
    limiter = memory.window(unique, 1, :hour)
    controller = controller do
      before_action { head(:unauthorized) }
      limited_by limiter
      define_method(:show) { head(:ok) }
    end
    assert_equal [401] * 2, Array.new(2) { get(controller, :show).status }
    assert_equal 0, limiter.stats.granted
  end

  def test_an_action_has_the_permit
    limiter = memory.points(unique, 100, :hour)
    controller = controller do
      limited_by limiter, cost: 10, refund_if: ->(_) { false }
      define_method(:show) do
        request.env["paddlegate.permit"].correct(4)
        head(:ok)
      end
    end
    get(controller, :show)
    assert_equal 4, limiter.stats.units
  end

  private

  def controller(&body)
    Class.new(ActionController::API) do
      include Paddlegate::Rails

      class_eval(&body)
    end
  end

  def get(controller, action, path = "/")
    Rack::MockRequest.new(controller.action(action)).get(path)
  end
end

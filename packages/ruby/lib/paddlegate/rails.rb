# frozen_string_literal: true

require_relative "rack"

module Paddlegate
  # Keeps the actions of Rails' controllers, from Rails 6.1 on, within a limit:
  #
  #   require "paddlegate/rails"
  #
  #   class ApplicationController < ActionController::Base
  #     include Paddlegate::Rails
  #   end
  #
  #   class PostsController < ApplicationController
  #     limited_by PER_USER, key: -> { current_user.id }, only: :create
  #   end
  #
  # It answers as {Rack} does, and a lease lasts as long: until the body is closed, also that of
  # `ActionController::Live`.
  module Rails
    TURNS = "paddlegate.turns"
    PROBLEM = "application/problem+json"
    private_constant :TURNS, :PROBLEM

    def self.included(controller)
      controller.extend(ClassMethods)
    end

    # What a controller gets.
    module ClassMethods
      # Limits actions: a `before_action`, so those declared above it come first.
      #
      # `only`, `except`, `if`, `unless` and `prepend` are as in `before_action`; the other options
      # are those of {RequestLimit}. Procs run in the controller without arguments; `over_limit`,
      # which renders, is given the {Decision}, and `refund_if` the status. Several limits are asked
      # one after the other.
      def limited_by(limiter, prepend: false, **options)
        conditions = options.slice(:only, :except, :if, :unless)
        limit = RequestLimit.new(limiter, **options.except(*conditions.keys))
        place = prepend ? :prepend_before_action : :before_action
        public_send(place, **conditions) { Rails.take(self, limit) }
      end
    end

    # @api private
    def self.take(controller, limit)
      request = controller.request
      turn = limit.take(*Rack.address(request.env)) do |option, *rest|
        controller.instance_exec(*rest, &option)
      end
      return if turn.nil?

      request.env[TURNS] << turn
      request.env[Rack::PERMIT] = turn.permit
      controller.response.headers.merge!(turn.fields)
      refuse(controller, turn) if turn.refused?
    end

    def self.refuse(controller, turn)
      controller.status = turn.status
      turn.over_limit
      return if controller.performed?

      controller.render(body: turn.problem, content_type: PROBLEM, status: turn.status)
    end
    private_class_method :refuse

    # @api private
    # Where a response with its final status comes from, whatever has rendered it.
    def dispatch(_name, request, _response)
      turns = request.env[TURNS] = []
      Rack.finish(turns, request.env) { super }
    end
  end
end

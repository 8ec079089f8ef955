# frozen_string_literal: true

# Actions of Rails, limited for each user; a search that fails costs nothing.
#
# Guide: docs/src/guides/rails.md

require "logger"
require "action_controller/railtie"
require "paddlegate/rails"

PER_USER = Paddlegate.window("posts", 2, :minute, keyed: true)
SEARCHES = Paddlegate.bucket("searches", 10, :hour)

# What all controllers have.
class ApplicationController < ActionController::API
  include Paddlegate::Rails
end

# Two posts a minute of each user.
class PostsController < ApplicationController
  limited_by PER_USER, key: -> { params.require(:user) }, only: :create

  def create
    render json: { posted: params[:user] }, status: :created
  end

  def index
    head :ok
  end
end

# Ten searches an hour of all users.
class SearchController < ApplicationController
  limited_by SEARCHES, refund_if: ->(status) { status >= 500 }
  rescue_from(IOError) { head :bad_gateway }

  def show
    raise IOError, "the index is away" if params[:fails]

    head :ok
  end
end

# The application.
class Application < Rails::Application
  config.eager_load = false
  config.logger = Logger.new(IO::NULL)
  config.secret_key_base = "of an example"
  config.hosts.clear
end
Application.initialize!
Application.routes.draw do
  resources :posts, only: %i[index create]
  get "search", to: "search#show"
end

client = Rack::MockRequest.new(Application)
answers = Array.new(3) { client.post("/posts?user=ann") }
puts answers.map(&:status).join(" ") # -> 201 201 429
puts "again in #{answers.last["Retry-After"]} s"
puts client.post("/posts?user=ben").status # -> 201
puts client.get("/posts").status # -> 200

puts Array.new(20) { client.get("/search?fails=1").status }.tally.inspect # -> {502=>20}
puts client.get("/search").status # -> 200
puts SEARCHES.stats.units # -> 1

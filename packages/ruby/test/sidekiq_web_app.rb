# frozen_string_literal: true

# The application of config/routes.rb in sidekiq_web_test.rb: Sidekiq's pages with the tab.
#
#   ruby sidekiq_web_app.rb   serves them and prints the port

# Sidekiq reads it.
$TESTING = false # rubocop:disable Style/GlobalVars
require "cgi"
require "sidekiq"
require "paddlegate/sidekiq/web"

Sidekiq.logger.level = Logger::WARN
url = ENV.fetch("PADDLEGATE_TEST_URL")
Sidekiq.configure_client { |config| config.redis = { url: url } }

# Sidekiq's pages behind a session, as in its documentation.
WEB_APP = Rack::Builder.app do
  use Rack::Session::Cookie, secret: "a secret of the tests " * 4, same_site: true
  map("/sidekiq") { run Sidekiq::Web }
end

if $PROGRAM_NAME == __FILE__
  require "rack/handler/webrick"
  logger = WEBrick::Log.new(File::NULL)
  Rack::Handler::WEBrick.run(WEB_APP, Host: "127.0.0.1", Port: 0, Logger: logger,
                                      AccessLog: []) do |server|
    puts server.config[:Port]
    $stdout.flush
    trap("TERM") { server.shutdown }
  end
end

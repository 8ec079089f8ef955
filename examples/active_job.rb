# frozen_string_literal: true

# Jobs of Rails that share a limit: ten a second, and the tenants take turns.
#
# Guide: docs/src/guides/active-job.md

require "active_job"
require "paddlegate/active_job"

ActiveJob::Base.logger = Logger.new(IO::NULL)
ActiveJob::Base.queue_adapter = :async # in this process; in production Sidekiq or another
API = Paddlegate.throttle("api", 0.1)
DONE = Queue.new

# Calls the API for a tenant.
class SyncJob < ActiveJob::Base
  include Paddlegate::ActiveJob

  limited_by API, share: ->(tenant) { tenant }, patience: 0

  def perform(tenant)
    DONE << [tenant, executions]
  end
end

10.times { SyncJob.perform_later("large") }
5.times { SyncJob.perform_later("small") }
done = Array.new(15) { DONE.pop }
puts done.map(&:first).join(" ")
abort "not in turns" unless done.map(&:first).rindex("small") < 14
abort "coming back is no execution" unless done.map(&:last).uniq == [1]

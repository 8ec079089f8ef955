# frozen_string_literal: true

# Runs the test files side by side, each in a process of its own with a private Redis, and adds them
# up in the last line. The output of a file that fails is shown at the end, with its seed.
#
#   ruby packages/ruby/test/run.rb [FILE...]
#
# In a soak the tests of Sidekiq run once more with Sidekiq 7.
#
# PADDLEGATE_JOBS: how many at once, 4 by default. SEED: as minitest has it, by default that in
# PADDLEGATE_SEED.

require "open3"
require "rbconfig"

FOLDER = __dir__
REPOSITORY = File.expand_path("../../..", FOLDER)
SIDEKIQ7 = File.join(REPOSITORY, "scripts/sidekiq7.sh")
# Those that take longest begin first.
FIRST = %w[sidekiq_process readme sidekiq_web active_job rails rails_live rack gem late_jobs fork
           list sidekiq_planned fair threads sidekiq_wiki ended close].freeze
COUNTS = /^(\d+) runs, (\d+) assertions, (\d+) failures, (\d+) errors, (\d+) skips$/

Ran = Struct.new(:name, :output, :counts, :seconds) do
  def failed?
    counts.nil? || counts[2..3].sum.positive?
  end
end

# `before` is a command that runs the tests with other libraries.
def run(file, before)
  name = [File.basename(file, "_test.rb"), *before.map { |it| File.basename(it) }].join(" with ")
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  command = [*before, RbConfig.ruby, "-w", "-I#{FOLDER}/../lib", "-I#{FOLDER}", file]
  # A server of its own: what is published is heard in all databases of a server.
  seed = ENV.fetch("SEED", ENV.fetch("PADDLEGATE_SEED", nil))
  output, status = Open3.capture2e({ "PADDLEGATE_TEST_URL" => nil, "SEED" => seed },
                                   File.join(REPOSITORY, "scripts/with-redis.sh"), *command)
  counts = output[COUNTS] && output.match(COUNTS).captures.map(&:to_i)
  # One that broke after its last test has failed, too.
  counts = nil unless status.success? || counts&.at(2)&.positive? || counts&.at(3)&.positive?
  Ran.new(name, output, counts, Process.clock_gettime(Process::CLOCK_MONOTONIC) - began)
end

files = ARGV.map { |file| File.expand_path(file) }
files = Dir[File.join(FOLDER, "*_test.rb")] if files.empty?
files = files.sort_by { |file| [FIRST.index(File.basename(file, "_test.rb")) || FIRST.size, file] }
queue = Queue.new
files.each { |file| queue << [file, []] }
if ENV["PADDLEGATE_SOAK"] == "1"
  of_sidekiq = files.select { |file| File.basename(file).start_with?("sidekiq_") }
  of_sidekiq.each { |file| queue << [file, [SIDEKIQ7]] }
end
queue.close
done = Queue.new
workers = Array.new(Integer(ENV.fetch("PADDLEGATE_JOBS", 4))) do
  Thread.new do
    while (file, before = queue.pop)
      ran = run(file, before)
      puts format("%<name>s: %<what>s in %<seconds>.1f s", name: ran.name, seconds: ran.seconds,
                                                           what: ran.failed? ? "failed" : "passed")
      done << ran
    end
  end
end
workers.each(&:join)

all = Array.new(done.size) { done.pop }
all.select(&:failed?).each do |ran|
  puts "", "--- #{ran.name} failed:", ran.output.gsub(/^/, "  ")
end
# A file that broke counts as one error.
sums = all.map { |ran| ran.counts || [1, 0, 0, 1, 0] }.transpose.map(&:sum)
words = %w[runs assertions failures errors skips]
puts "", sums.zip(words).map { |sum, word| "#{sum} #{word}" }.join(", ")
exit(all.none?(&:failed?))

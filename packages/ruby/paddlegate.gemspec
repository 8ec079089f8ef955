# frozen_string_literal: true

require_relative "lib/paddlegate/version"

Gem::Specification.new do |spec|
  spec.name = "paddlegate"
  spec.version = Paddlegate::VERSION
  spec.summary = "One rate limiter for every language a company runs"
  spec.description = "Ruby workers, Python tasks and Node services name the same limiter, talk " \
                     "to the same Redis and get one answer: leases, buckets, windows, points."
  spec.authors = ["The Paddlegate developers"]
  spec.licenses = %w[MIT Apache-2.0]
  spec.required_ruby_version = ">= 3.0"
  # Made for one platform by `rake gem`, which puts the library beside the Ruby files.
  spec.platform = Gem::Platform.local
  spec.files = Dir["lib/**/*.{rb,erb,so,dylib}", "README.md", "LICENSE-*",
                   "THIRD_PARTY_LICENSES.txt"]
  spec.require_paths = ["lib"]
  spec.metadata = { "rubygems_mfa_required" => "true" }

  spec.add_dependency "ffi", "~> 1.15"
end

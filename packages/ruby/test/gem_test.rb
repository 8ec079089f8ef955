# frozen_string_literal: true

require "helper"

# The gem as a user gets it: built, installed into an empty folder and used from there.
class GemTest < Minitest::Test
  include Helper

  def test_build_install_and_use
    Dir.mktmpdir do |folder|
      # Not where others build at the same time.
      run_in(ROOT, "rake", "gem[#{folder}/gem]")
      built = Dir[File.join(folder, "gem/paddlegate-*.gem")]
      assert_equal 1, built.size
      assert_includes built.first, Gem::Platform.local.to_s
      home = File.join(folder, "home")
      Dir.mkdir(home)
      environment = { "GEM_HOME" => home, "PADDLEGATE_URL" => URL, "PADDLEGATE_LIBRARY" => nil,
                      "RUBYLIB" => nil, "RUBYOPT" => nil }
      install = ["gem", "install", "--local", "--no-document", built.first]
      run_in(home, *install, environment: environment)
      templates = Dir[File.join(home, "gems/paddlegate-*/lib/**/*.erb")]
      assert_equal %w[limiter.erb limits.erb], templates.map { File.basename(_1) }.sort
      program = <<~RUBY
        require "paddlegate"
        library = File.readlines("/proc/self/maps") if Paddlegate.unlimited && File.exist?("/proc")
        puts library.grep(/libpaddlegate/).first.split.last if library
        puts Paddlegate.bucket(#{unique.inspect}, 2, :day).try_acquire.remaining
      RUBY
      output = run_in(home, RbConfig.ruby, "-w", "-e", program, environment: environment).split
      assert_equal "1", output.last
      assert(output.first.start_with?(File.realpath(home)), output.first)
    end
  end

  private

  def run_in(folder, *command, environment: {})
    output, status = Open3.capture2e(environment, *command, chdir: folder)
    assert status.success?, output
    output
  end
end

# frozen_string_literal: true

require "helper"

# Which library the gem takes.
class LibraryTest < Minitest::Test
  include Helper

  LOADS = <<~RUBY
    require "paddlegate"
    begin
      Paddlegate::Store.new("memory://")
    rescue LoadError => e
      print e.message
    end
  RUBY

  def test_another_version_is_refused
    with_library('const char *pg_version(void) { return "0.0.9"; }') do |path|
      said = ruby(LOADS, "PADDLEGATE_LIBRARY" => path)
      assert_includes said, "library=0.0.9"
      assert_includes said, "gem=#{Paddlegate::VERSION}"
      assert_includes said, path
    end
  end

  def test_another_library_is_refused
    with_library("int other(void) { return 0; }") do |path|
      assert_includes ruby(LOADS, "PADDLEGATE_LIBRARY" => path), "path=#{path}"
    end
  end

  def test_its_own_version_is_taken
    assert_equal Paddlegate::VERSION, Paddlegate::Native.pg_version
    assert_empty ruby(LOADS)
  end

  private

  # A library of this C program.
  def with_library(program)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "libother.so")
      output, status = Open3.capture2e("cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path,
                                       stdin_data: program)
      assert status.success?, output
      yield path
    end
  end
end

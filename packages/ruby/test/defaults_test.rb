# frozen_string_literal: true

require "helper"

# The default store, and what happens when nothing has been called yet.
class DefaultsTest < Minitest::Test
  include Helper

  def test_requiring_starts_nothing
    output = ruby(<<~'RUBY')
      before = Thread.list.size
      require "paddlegate"
      maps = File.read("/proc/self/maps")
      puts maps.include?("libpaddlegate"), $LOADED_FEATURES.grep(/ffi/).size, Thread.list.size - before
      Paddlegate.unlimited
      puts File.read("/proc/self/maps").include?("libpaddlegate")
      puts Dir.children("/proc/self/task").size == Thread.list.size + 1 || Thread.list.size == 1
    RUBY
    assert_equal %w[false 0 0 true true], output.split
  end

  # An interrupt or a Timeout that ends the `require` of RubyGems breaks it.
  def test_nothing_is_loaded_in_the_middle_of_a_wait
    output = ruby(<<~RUBY, "PADDLEGATE_URL" => URL)
      require "paddlegate"
      Paddlegate.configure { |c| c.timeout = 10 }
      limiter = Paddlegate.concurrent(#{unique.inspect}, 1)
      before = $LOADED_FEATURES.dup
      held = limiter.acquire
      begin
        limiter.within_limit(wait_timeout: 0.1) { nil }
      rescue Paddlegate::OverLimit
        held.release
      end
      limiter.learn_from_response({}, { "errors" => [] })
      limiter.stats
      puts $LOADED_FEATURES - before
    RUBY
    assert_empty output
  end

  def test_without_a_url_it_is_memory
    [{}, { "PADDLEGATE_URL" => "" }, { "PADDLEGATE_URL" => "memory://" }].each do |environment|
      environment = { "PADDLEGATE_URL" => nil }.merge(environment)
      output = ruby(<<~RUBY, environment)
        require "paddlegate"
        puts Paddlegate.store.memory?, Paddlegate.bucket("b", 2, :day).try_acquire.remaining
      RUBY
      assert_equal %w[true 1], output.split
    end
  end

  def test_the_url_of_the_environment
    output = ruby(<<~RUBY, "PADDLEGATE_URL" => URL)
      require "paddlegate"
      Paddlegate.configure { |c| c.timeout = 10 }
      puts Paddlegate.store.memory?, Paddlegate.bucket(#{unique.inspect}, 2, :day).try_acquire.remaining
    RUBY
    assert_equal %w[false 1], output.split
  end

  def test_configure
    output = ruby(<<~RUBY, "PADDLEGATE_URL" => "redis://127.0.0.1:1")
      require "paddlegate"
      before = Paddlegate.unlimited
      p Paddlegate.store.memory?
      Paddlegate.configure { |c| c.url = "memory://"; c.timeout = 0.5 }
      p Paddlegate.store.memory?, Paddlegate.configuration.url, Paddlegate.configuration.timeout
      p before.allow?, Paddlegate.configuration.frozen?
      begin
        Paddlegate.configure { |c| c.url = "redis://localhost"; c.timeout = 0 }
        Paddlegate.store
      rescue Paddlegate::InvalidError => e
        puts e.argument
      end
    RUBY
    assert_equal ["false", "true", '"memory://"', "0.5", "true", "true", "timeout"], output.split
  end

  def test_the_default_store_is_made_once
    output = ruby(<<~RUBY, "PADDLEGATE_URL" => nil)
      require "paddlegate"
      puts 8.times.map { Thread.new { Paddlegate.store.object_id } }.map(&:value).uniq.size
      puts 8.times.count { Paddlegate.window("b", 3, :day).allow? }
    RUBY
    assert_equal %w[1 3], output.split
  end

  def test_the_version_is_that_of_the_library
    assert_equal Paddlegate::VERSION, Paddlegate::Native.pg_version
    workspace = File.read(File.join(REPOSITORY, "Cargo.toml"))
    assert_equal workspace[/^version = "(.*)"/, 1], Paddlegate::VERSION
  end
end

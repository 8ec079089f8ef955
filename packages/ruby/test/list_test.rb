# frozen_string_literal: true

require "helper"

# The list of limiters: by the beginning of their names, and in pages.
class ListTest < Minitest::Test
  include Helper

  MANY = 330

  def test_those_whose_names_begin_with_a_text
    base = unique
    both do |store|
      names = use(store, base)
      found = store.limiters(prefix: "#{base}-a-")
      assert_equal names, found.map(&:name)
      assert_equal [[60.0]], found.map { |info| info.limits.map { |it| it[:interval] } }.uniq
      assert_equal 2, store.limiters(prefix: "#{base}-b").size
      assert_equal [names.first], store.limiters(prefix: names.first).map(&:name)
      assert_empty store.limiters(prefix: "#{base}-a-x")
      [{}, { prefix: nil }, { prefix: "" }, { prefix: :"" }].each do |all|
        found = store.limiters(**all).select { |info| info.name.start_with?(base) }
        assert_equal MANY + 2, found.size
      end
    end
  end

  def test_pages
    base = unique
    both do |store|
      names = use(store, base)
      pages = pages(store, prefix: "#{base}-a-")
      assert_equal names, pages.flat_map(&:limiters).map(&:name).uniq.sort
      pages.each do |page|
        found = page.limiters.map(&:name)
        assert_equal found.sort, found
        assert_predicate page, :frozen?
        assert_kind_of Paddlegate::LimiterInfo, page.limiters.first
      end
      pages[..-2].each { |page| assert_operator page.limiters.size, :>=, 50 }
      assert_nil pages.last.cursor
      next assert_equal(1, pages.size) if store.memory?

      assert_includes 2..5, pages.size
      assert_equal Encoding::UTF_8, pages.first.cursor.encoding
      # Of all names.
      found = pages(store).flat_map(&:limiters).map(&:name)
      assert_empty names - found
    end
  end

  def test_a_page_without_names
    both do |store|
      page = store.limiter_page(prefix: unique)
      assert_equal [[], nil], [page.limiters, page.cursor]
    end
  end

  def test_a_page_is_asked_for_by_another_process
    names = use(redis, base = unique)
    page = redis.limiter_page(prefix: "#{base}-a-")
    other = Paddlegate::Store.new(URL, timeout: 10)
    found = page.limiters.map(&:name)
    cursor = page.cursor.dup
    while cursor
      page = other.limiter_page(prefix: "#{base}-a-", cursor: cursor)
      found.concat(page.limiters.map(&:name))
      cursor = page.cursor
    end
    assert_equal names, found.uniq.sort
  end

  def test_prefixes_are_as_they_are
    base = unique
    both do |store|
      store.window("#{base}-plain", 5, 60).try_acquire
      ["*", "?", "[ab]", "\\", "é", "%", "{x}", "a b", "\n", "|"].each do |odd|
        name = "#{base}-#{odd}-name"
        store.window(name, 5, 60).try_acquire
        assert_equal [name], store.limiters(prefix: "#{base}-#{odd}").map(&:name)
        page = store.limiter_page(prefix: "#{base}-#{odd}".to_sym)
        assert_equal [[name], nil], [page.limiters.map(&:name), page.cursor]
      end
      latin = "#{base}-é".encode("ISO-8859-1")
      assert_equal 1, store.limiters(prefix: latin).size
    end
  end

  def test_groups_and_keys
    base = unique
    store = redis
    store.window("#{base}-g", 5, 60, group: "#{base}-team").try_acquire
    store.window("#{base}-k", 5, 60, keyed: true).try_acquire(key: "ann")
    store.window("other-#{base}", 5, 60, group: base).try_acquire
    found = store.limiter_page(prefix: base).limiters
    assert_equal([["#{base}-g", "#{base}-team", false], ["#{base}-k", nil, true]],
                 found.map { |info| [info.name, info.group, info.keyed] })
    assert_equal found, store.limiters(prefix: base)
  end

  def test_wrong_cursors
    wrong = ["", "x", "0", "0.", ".0", "-1.0", "256.0", "0.-1", "0.1.2", " 0.0", "0.0\n", "0" * 999,
             5, 0.0, :"0.0", false, [], "0.0\0", "\xff".dup.force_encoding("UTF-8")]
    both do |store|
      wrong.each do |bad|
        refused("cursor", bad) { store.limiter_page(cursor: bad) }
        refused("cursor", bad) { store.limiter_page(prefix: "a", cursor: bad) }
      end
      # There is one page in memory.
      refused("cursor", "0.0") { store.limiter_page(cursor: "0.0") } if store.memory?
    end
  end

  def test_wrong_prefixes
    both do |store|
      [5, 1.5, false, [], {}, "a\0", "\xff".dup.force_encoding("UTF-8")].each do |bad|
        refused("prefix", bad) { store.limiters(prefix: bad) }
        refused("prefix", bad) { store.limiter_page(prefix: bad) }
      end
    end
  end

  def test_without_a_server
    store = Paddlegate::Store.new("redis://127.0.0.1:1", timeout: 0.5)
    assert_raises(Paddlegate::UnavailableError) { store.limiters(prefix: "a") }
    assert_raises(Paddlegate::UnavailableError) { store.limiter_page }
  end

  def test_a_closed_store
    store = Paddlegate::Store.new(URL, timeout: 10)
    store.close
    refused("store", nil) { store.limiters(prefix: "a") }
    refused("store", nil) { store.limiter_page }
  end

  def test_the_default_store
    output = ruby(<<~RUBY, "PADDLEGATE_URL" => nil)
      require "paddlegate"
      %w[shop-1 shop-2 mail].each { |name| Paddlegate.window(name, 5, 60).try_acquire }
      page = Paddlegate.limiter_page(prefix: "shop-")
      p Paddlegate.limiters(prefix: "shop-").map(&:name), page.limiters.size, page.cursor
    RUBY
    assert_equal ['["shop-1", "shop-2"]', "2", "nil"], output.lines.map(&:chomp)
  end

  private

  def both
    yield memory
    yield redis
  end

  # Uses many limiters, and two with another beginning. Returns the names of the many.
  def use(store, base)
    names = Array.new(MANY) { |number| "#{base}-a-#{number + 100}" }
    [*names, "#{base}-b-1", "#{base}-b-2"].each { |name| store.window(name, 5, 60).try_acquire }
    names
  end

  def pages(store, **options)
    pages = [store.limiter_page(**options)]
    while (cursor = pages.last.cursor)
      pages << store.limiter_page(**options, cursor: cursor)
      flunk("endless") if pages.size > 1000
    end
    pages
  end

  def refused(argument, bad, &block)
    error = assert_raises(Paddlegate::InvalidError, bad.inspect, &block)
    assert_equal argument, error.argument
  end
end

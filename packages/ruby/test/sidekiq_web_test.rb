# frozen_string_literal: true

require "helper"
require "open3"
require "rack/mock"
require "sidekiq_web_app"

# The tab "Limits" of Sidekiq's pages, by requests and in a browser.
class SidekiqWebTest < Minitest::Test
  include Helper

  ESCAPED = "&lt;u9&gt;&amp;&quot;"

  def setup
    @config = Sidekiq::Limiter.config
    Sidekiq::Limiter.configure { |config| config.redis = { url: Helper::URL, timeout: 10 } }
    @store = Sidekiq::Limiter.store
    @client = Rack::MockRequest.new(WEB_APP)
    @cookie = nil
  end

  def teardown
    @store.limiters.each { |info| @store.window(info.name, 1, 1, group: info.group).reset }
    Sidekiq::Limiter.configure { |config| config.redis = @config.redis }
  end

  def get(path, status = 200)
    response = @client.get("/sidekiq/#{path}", cookies)
    @cookie = response["Set-Cookie"]&.split(";")&.first || @cookie
    assert_equal status, response.status, response.body[0, 500]
    response.body
  end

  # Sends the form of a page, whose token it has.
  def submit(page, fields)
    token = page[/name='authenticity_token' value='([^']+)'/, 1]
    body = URI.encode_www_form(fields.merge(authenticity_token: token))
    @client.post("/sidekiq/limits/limiter", { input: body, **cookies })
  end

  def cookies
    @cookie ? { "HTTP_COOKIE" => @cookie } : {}
  end

  def page_of(name, **more)
    get("limits/limiter?#{URI.encode_www_form(name: name, **more)}")
  end

  # Returns the texts of the cells of the row with this text.
  def row(page, text)
    row = page.scan(%r{<tr>.*?</tr>}m).find { |it| it.include?(text) }
    row.scan(%r{<t[dh]>(.*?)</t[dh]>}m).flatten.map { |it| it.gsub(/<[^>]+>/, " ").split.join(" ") }
  end

  def test_it_is_a_tab_of_sidekiq
    assert_equal "limits", Sidekiq::Web.tabs["Limits"]
    assert_match %r{<a href="/sidekiq/limits">\s*Limits\s*</a>}, get("")
    refute Paddlegate::Sidekiq::Web.install, "once"
    assert_equal 1, get("").scan("/sidekiq/limits").size
  end

  def test_it_lists_all_limiters_of_all_languages
    name = unique
    @store.limiter(name, rpm: Paddlegate::Limit.window(3, :hour), concurrency: 2).try_acquire
    4.times { Sidekiq::Limiter.bucket("#{name}-b", 3, :day).within_limit { 1 } }
  rescue Sidekiq::Limiter::OverLimit
    page = get("limits?prefix=#{name}")
    assert_equal [name, "rpm (window): 3 per 3600 s concurrency: 2 at once, each 30 s at most"],
                 row(page, ">#{name}<").first(2)
    assert_equal ["#{name}-b", "bucket: 3 per 86400 s", "3", "1", "0", "0"],
                 row(page, ">#{name}-b<").first(6)
    assert_match(/20\d\d-\d\d-\d\d \d\d:\d\d UTC/, row(page, ">#{name}-b<").last)
    assert_includes get("limits?prefix=#{name}x"), "No limiter was used."
  end

  def test_the_page_of_a_limiter_has_limits_metrics_history_and_who_waits
    name = unique
    limiter = @store.limiter(name, concurrency: [1, 3600], window: [5, :hour])
    limiter.acquire(id: "import-1")
    limiter.enqueue("export-2", priority: 4, claim_timeout: 3600)
    page = page_of(name)
    assert_equal %w[window 5 policy 1 4], row(page, "<td>window</td>").first(5)
    assert_equal %w[concurrency 1 policy 1 0], row(page, "<td>concurrency</td>").first(5)
    assert_equal %w[Held 1], row(page, "<th>Held</th>")
    assert_equal %w[Reclaimed 0], row(page, "<th>Reclaimed</th>")
    assert_equal "import-1", row(page, "import-1").first
    assert_equal %w[export-2 4], row(page, "export-2").first(2)
    assert_match(/minutes, from \d\d:\d\d UTC: 1 granted, 0 refused, at most 1 calls in one/, page)
    assert_match(/<title>\d\d:\d\d: 1 granted, 0 refused, 0 waited, 1 units</, page)
  end

  def test_it_pauses_resumes_and_deletes
    name = unique
    limiter = @store.window(name, 5, :hour)
    limiter.try_acquire
    page = page_of(name)
    response = submit(page, name: name, command: "pause", seconds: 900)
    assert_equal 302, response.status
    assert_match %r{/sidekiq/limits/limiter\?name=#{name}\z}, response["Location"]
    assert_includes 600..900, limiter.runtime_state.paused_for
    assert_match(/Paused for \d/, page = page_of(name))
    submit(page, name: name, command: "resume")
    assert_nil limiter.runtime_state.paused_for
    refute_match(/Paused for/, page = page_of(name))
    submit(page, name: name, command: "pause", seconds: "soon")
    assert_nil limiter.runtime_state.paused_for, "a time that is none changes nothing"
    submit(page_of(name), name: name, command: "delete")
    assert_equal [5, 0], [limiter.peek.remaining, limiter.stats.granted]
  end

  def test_a_form_of_another_site_changes_nothing
    name = unique
    limiter = @store.window(name, 5, :hour)
    limiter.try_acquire
    page_of(name)
    assert_equal 403, submit("", name: name, command: "delete").status
    assert_equal 1, limiter.stats.granted
  end

  def test_a_keyed_limiter_shows_the_counts_of_all_and_the_state_of_one_key
    name = unique
    limiter = @store.window(name, 5, :hour, keyed: true)
    %w[ada bob].each { |key| limiter.try_acquire(key: key) }
    assert_includes get("limits?prefix=#{name}"), "keyed=1"
    # The same name without keys is another limiter.
    @store.window(name, 5, :hour).try_acquire
    assert_equal %w[Held 1], row(page_of(name), "<th>Held</th>")
    page = page_of(name, keyed: 1)
    assert_equal %w[Held 2], row(page, "<th>Held</th>")
    refute_includes page, "Pause"
    page = page_of(name, keyed: 1, key: "ada")
    assert_equal %w[window 5 policy 1 4], row(page, "<td>window</td>").first(5)
    submit(page, name: name, keyed: 1, key: "ada", command: "pause", seconds: 900)
    assert_equal [:paused, nil], [limiter.peek(key: "ada").reason, limiter.peek(key: "bob").reason]
  end

  def test_a_group_is_part_of_the_name
    name = unique
    @store.window(name, 5, :hour).try_acquire
    grouped = @store.window(name, 5, :hour, group: "shop")
    2.times { grouped.try_acquire }
    assert_includes get("limits?prefix=#{name}"), "group shop"
    held = [{}, { group: "shop" }].map { |more| row(page_of(name, **more), "<th>Held</th>") }
    assert_equal [%w[Held 1], %w[Held 2]], held
  end

  def test_every_kind_has_a_page
    calendar = Paddlegate::Limit.quota(5, :month, timezone: "Europe/Berlin")
    { bucket: [5, :day], window: [5, 30], leaky: [5, 60], points: [5, 60], throttle: [2, :second],
      concurrency: 5, quota: calendar }.each do |kind, limit|
      name = unique
      @store.limiter(name, { kind => limit }).try_acquire(cost: 1)
      assert_equal kind.to_s, row(page_of(name), "<td>#{kind}</td>").first
    end
  end

  def test_names_are_text
    name = "#{unique}<u9>&\""
    @store.limiter(name, concurrency: 1).acquire(id: "<u8>")
    [get("limits?#{URI.encode_www_form(prefix: name)}"), page_of(name)].each do |page|
      assert_includes page, ESCAPED
      refute_match(/<u9>|<u8>/, page)
    end
    assert_includes page_of(name), "&lt;u8&gt;"
  end

  def test_wrong_requests
    get("limits/limiter?name=none", 404)
    get("limits/limiter", 404)
    get("limits/limiter?name[]=x", 404)
    get("limits/limiter?name=%FF%00", 404)
    get("limits/limiter?name=#{"x" * 600}", 404)
    get("limits/limiter?name=x%00", 404)
    assert_equal 403, submit("", name: "none").status
    ["limits?cursor=none", "limits?prefix=#{"x" * 600}", "limits?prefix[]=x&cursor[x]=y",
     "limits?prefix=%00"].each { |path| get(path) }
  end

  def test_more_names_than_a_page_has
    prefix = unique
    names = Array.new(700) { |i| "#{prefix}-#{i}" }
    names.each { |name| @store.window(name, 1, 1).try_acquire }
    found = []
    path = "limits?prefix=#{prefix}"
    until path.nil?
      page = get(path)
      found += page.scan(/#{prefix}-\d+(?=<)/)
      path = page[/href="([^"]+)">More/, 1]
      path &&= CGI.unescapeHTML(path).delete_prefix("/sidekiq/")
    end
    assert_equal names.sort, found.uniq.sort
  end

  def test_in_a_browser
    name = unique
    limiter = @store.window(name, 3, :hour)
    4.times { limiter.try_acquire }
    # Sends what this process has counted.
    assert_equal 3, limiter.stats.granted
    @store.concurrent("#{name}-slots", 1, lock_timeout: 3600).acquire(id: "holder")
    environment = { "PADDLEGATE_URL" => Helper::URL, "LIMITER" => name }
    script = File.join(__dir__, "sidekiq_web_browser.mjs")
    app = [RbConfig.ruby, "-I#{__dir__}/../lib", "#{__dir__}/sidekiq_web_app.rb"]
    Open3.popen2(environment, *app) do |input, output, server|
      input.close
      output, status = Open3.capture2e(environment.merge("PORT" => output.gets), "node", script)
      assert status.success?, output
    ensure
      Process.kill("TERM", server.pid)
    end
    assert_equal 0, limiter.stats.granted, "the browser has deleted it"
  end
end

# frozen_string_literal: true

require "helper"

# The examples of the README, one after the other as a reader would type them.
class ReadmeTest < Minitest::Test
  include Helper

  EXAMPLES = File.read(File.join(ROOT, "README.md")).scan(/^```ruby\n(.*?)^```$/m).flatten

  def test_the_examples_run
    assert_operator EXAMPLES.size, :>=, 6
    # In memory, and on a Redis where nobody has these names.
    assert_empty ruby(program, "PADDLEGATE_URL" => nil)
    assert_empty ruby(program(unique), "PADDLEGATE_URL" => URL)
  end

  private

  def program(prefix = "")
    # A value that is shown to the reader is not used, which -w would say.
    patience = 'require "paddlegate"; Paddlegate.configure { |config| config.timeout = 10 }'
    ["$VERBOSE = false", patience, *EXAMPLES]
      .join("\n")
      .gsub(/((?:Paddlegate|Limiter)\.\w+\()"/, "\\1\"#{prefix}")
  end
end

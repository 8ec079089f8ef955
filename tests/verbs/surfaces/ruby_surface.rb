# frozen_string_literal: true

# Prints the public methods of the Ruby package with their arguments, as Ruby sees them.
require "json"
require "paddlegate"

OPTIONS = Paddlegate::Limiter.instance_method(:initialize).parameters
                             .select { _1.first == :key }.map(&:last).freeze

# What a rest of keywords is handed to, where that is no factory.
HANDED_TO = {
  load: Paddlegate::Store.instance_method(:limiters_from_document),
  learn_from_http: Paddlegate::Limiter.instance_method(:learn_from_response)
}.freeze

# A rest of keywords stands for the options of a limiter; a rest of modules is that of
# `Object#extend`.
def arguments(method)
  method.parameters.flat_map do |kind, name|
    case kind
    when :keyrest then HANDED_TO[method.name]&.then { |it| keywords(it) } || OPTIONS
    when :block then []
    when :rest then name == :limiters ? [name] : []
    else [name]
    end
  end
end

def keywords(method)
  method.parameters.select { |kind, _| kind == :key }.map(&:last)
end

# Those of its own and of the modules of the package.
def methods_of(type)
  names = type.public_instance_methods.select do |name|
    type.instance_method(name).owner.name.to_s.start_with?("Paddlegate")
  end
  names.to_h { |name| [name, arguments(type.instance_method(name))] }
end

surface = {
  store: {
    open: arguments(Paddlegate::Store.instance_method(:initialize)),
    **methods_of(Paddlegate::Store)
  },
  limiter: methods_of(Paddlegate::Limiter),
  permit: methods_of(Paddlegate::Permit),
  gate: methods_of(Paddlegate::Gate),
  function: %i[caller_key graphql_cost plain_key].to_h do |name|
    [name, arguments(Paddlegate.method(name))]
  end
}
puts JSON.generate(surface)

# frozen_string_literal: true

require_relative "../paddlegate"

module Paddlegate
  # Tests of programs that have limits: every store is in the memory of the process, whatever its
  # URL, and has a clock that moves only when the test moves it.
  #
  #   require "paddlegate/testing/minitest" # or "paddlegate/testing/rspec", before the program
  #
  #   Paddlegate::Testing.clock.advance(:minute)
  #
  # It is required before the program that makes the limiters, such as `config/environment` of
  # Rails. Each test begins with all limiters as good as new, and with the clock at {BEGINNING}. For
  # another test framework call {reset} before each test.
  module Testing
    # The time at which each test begins, in microseconds since 1970: the first of January 2026.
    BEGINNING = 1_767_225_600_000_000

    # What begins anew, in the order in which it was made, since some limiters are made of others.
    # @api private
    module Anew
      @count = 0
      @all = ObjectSpace::WeakMap.new
      @lock = Mutex.new

      class << self
        # Keeps how to begin anew, as long as what was made is in use.
        def keep(made, &beginning)
          made.instance_variable_set(:@beginning, beginning)
          @lock.synchronize { @all[made] ||= @count += 1 }
        end

        def begin
          made = @lock.synchronize { @all.keys.sort_by { |it| @all[it] } }
          made.each { |it| it.instance_exec(&it.instance_variable_get(:@beginning)) }
        end
      end
    end

    # Makes every store one in memory.
    # @api private
    module InMemory
      def initialize(_url = nil, timeout: nil, clock: nil)
        super("memory://", timeout: timeout, clock: clock || Testing.clock)
        Anew.keep(self) { initialize(timeout: timeout, clock: clock) }
      end
    end

    # Keeps how limiters were made.
    # @api private
    module Made
      def together(*limiters, **options)
        anew(super) { together(*limiters, **options) }
      end

      def limiters_from_document(document, **options)
        super.each do |name, limiter|
          anew(limiter) { limiters_from_document(document, **options).fetch(name) }
        end
      end

      def conductor_limiter(*documents, **options)
        anew(super) { conductor_limiter(*documents, **options) }
      end

      def invantive_gate(document)
        of = store
        super.tap { |gate| Anew.keep(gate) { initialize(of, document) } }
      end

      private

      def make(name, limits, options, &block)
        anew(super) { make(name, limits, options) }
      end

      def anew(limiter, &make)
        of = store
        Anew.keep(limiter) { attach(of, make.call.handle) }
        limiter
      end
    end

    # Keeps of which limiter one of a key was made.
    # @api private
    module OfKey
      def with_key(key)
        of = self
        super.tap { |one| Anew.keep(one) { attach(@store, of.with_key(key).handle) } }
      end
    end

    class << self
      # Returns the {TestClock} of all stores.
      attr_reader :clock

      # Lets all limiters and the clock begin anew.
      def reset
        clock.now_us = BEGINNING
        Anew.begin
        nil
      end
    end

    if ObjectSpace.each_object(Store).any?
      raise "require paddlegate/testing before what makes limiters: there is a store already"
    end

    @clock = TestClock.new(BEGINNING)
    Store.prepend(InMemory)
    Factories.prepend(Made)
    Limiter.prepend(OfKey)
  end
end

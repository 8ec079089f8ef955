# frozen_string_literal: true

module Paddlegate
  # @api private
  # A limiter of {Factories#limiters_from_document}: its handle, and the settings of the document
  # beside its limits.
  LoadedLimiter = Struct.new(:name, :handle, :wait_timeout, :on_limit, :group) do
    # Reads a `pg_loaded_limiter`; `nil` for the one that marks the end of the list.
    def self.read(memory)
      name = memory.get_string(0)
      return if name.empty?

      wait_timeout = memory.get_int64(self::WAIT_TIMEOUT)
      new(name.force_encoding("UTF-8").freeze,
          Native::LimiterHandle.new(memory.get_pointer(self::HANDLE)),
          wait_timeout == -1 ? nil : wait_timeout / 1_000_000.0,
          memory.get_string(self::ON_LIMIT).to_sym,
          group(memory.get_string(self::GROUP)))
    end

    def self.group(text)
      text.force_encoding("UTF-8").freeze unless text.empty?
    end
    private_class_method :group
  end

  # The offsets of the fields of a `pg_loaded_limiter`.
  LoadedLimiter::HANDLE = 520
  LoadedLimiter::WAIT_TIMEOUT = 1888
  LoadedLimiter::ON_LIMIT = 1896
  LoadedLimiter::GROUP = 1912
  LoadedLimiter::SIZE = 2432
end

# frozen_string_literal: true

module Paddlegate
  # What a limiter contains at one moment, as {Limiter#inspection} returns it. Frozen.
  #
  # - `at_us`: the time of the store in microseconds since 1970
  # - `limits`: a list of {Inspection::Limit}, in the order of the policy
  # - `paused_for`, `blocked_for`: seconds (Float) for which the pause and the block last from now;
  #   `nil` without one
  # - `mode`: the mode that rules, `:enforce` or `:shadow`: an override of it, otherwise that of the
  #   limiter
  # - `leases`: a page of the leases, a list of {Inspection::Lease}, also of other policies of the
  #   name; the first to end first. `lease_count`: the number of all leases
  # - `tickets`: a page of the tickets, a list of {Inspection::Ticket} in the order of the queue;
  #   lapsed ones leave gaps in a page. `ticket_count`: the number of all tickets, with lapsed ones
  #   that no call has removed yet
  Inspection = Struct.new(:at_us, :limits, :paused_for, :blocked_for, :mode, :leases, :lease_count,
                          :tickets, :ticket_count) do
    # @api private
    # Reads a `pg_inspection` with its arrays of `pg_lease_info` and `pg_ticket_info`.
    def self.read(memory, leases, tickets)
      at_us, paused_for, blocked_for, *counts = memory.get_array_of_int64(0, 8)
      lease_count, ticket_count, leases_found, tickets_found, limit_count = counts
      new(at_us, list(Inspection::Limit, memory + self::LIMITS, limit_count), seconds(paused_for),
          seconds(blocked_for), memory.get_string(self::MODE).to_sym,
          list(Inspection::Lease, leases, leases_found), lease_count,
          list(Inspection::Ticket, tickets, tickets_found), ticket_count).freeze
    end

    def self.list(type, array, count)
      Array.new(count) { |i| type.read(array + (i * type::SIZE)) }.freeze
    end
    private_class_method :list

    # @api private
    def self.seconds(micros)
      micros / 1_000_000.0 unless micros == -1
    end

    # @api private
    # Returns the text at an address.
    def self.text(memory, at)
      memory.get_string(at).force_encoding(Encoding::UTF_8).freeze
    end
  end

  # One limit of an {Inspection}, by itself. Frozen.
  #
  # - `label` and `kind` (Symbols), `limit` (the amount that rules), `interval` (seconds, as in a
  #   {RuntimeState})
  # - `source`: whose numbers these are: `:policy`, `:override` or `:learned`
  # - `taken`: the units, starts or leases that count now; above the limit in debt, or after the
  #   limit was lowered
  # - `remaining`: the units that are left, of a throttle 1 or 0. Those that tickets wait for are
  #   not subtracted
  # - `next_after`: seconds until this limit passes one more unit to a call that nobody is ahead of,
  #   whatever the other limits and a pause say; `nil` when it is unknown, as under a limit of zero
  # - `reset_after`: seconds until all of it is available again
  Inspection::Limit = Struct.new(:label, :kind, :limit, :interval, :source, :taken, :remaining,
                                 :next_after, :reset_after) do
    # @api private
    # Reads a `pg_inspected_limit`.
    def self.read(memory)
      limit, interval, taken, remaining, next_after, reset_after =
        memory.get_array_of_int64(self::NUMBERS, 6)
      new(memory.get_string(0).to_sym, Library::KINDS[memory.get_int32(self::KIND)], limit,
          Inspection.seconds(interval), memory.get_string(self::SOURCE).to_sym, taken, remaining,
          Inspection.seconds(next_after), Inspection.seconds(reset_after)).freeze
    end
  end

  # One lease of an {Inspection}. Frozen.
  #
  # - `id`: the id of the call that holds it
  # - `held_for`: seconds since the grant, and `fencing_token`; `nil` when the store no longer knows
  #   them
  # - `ends_in`: seconds until it ends, unless it is renewed or released
  Inspection::Lease = Struct.new(:id, :held_for, :ends_in, :fencing_token) do
    # @api private
    # Reads a `pg_lease_info`.
    def self.read(memory)
      held_for, ends_in, fencing_token = memory.get_array_of_int64(self::NUMBERS, 3)
      new(Inspection.text(memory, 0), Inspection.seconds(held_for), Inspection.seconds(ends_in),
          fencing_token == -1 ? nil : fencing_token).freeze
    end
  end

  # One ticket of an {Inspection}. Frozen.
  #
  # - `id`: the id of the call that waits; `priority`: from 0 to 9, the highest first
  # - `share`: the share that the ticket counts for; `nil` without one
  # - `waited`: seconds since it joined the queue
  # - `ready`: whether its call may retry now: it was called, or the time of its next try has come
  Inspection::Ticket = Struct.new(:id, :priority, :share, :waited, :ready) do
    # @api private
    # Reads a `pg_ticket_info`.
    def self.read(memory)
      share = Inspection.text(memory, self::SHARE)
      priority, ready = memory.get_array_of_int32(self::PRIORITY, 2)
      new(Inspection.text(memory, 0), priority, share.empty? ? nil : share,
          Inspection.seconds(memory.get_int64(self::WAITED)), ready == 1).freeze
    end
  end

  # The offsets of the fields of a `pg_inspected_limit`.
  Inspection::Limit::SOURCE = 40
  Inspection::Limit::NUMBERS = 56
  Inspection::Limit::KIND = 104
  Inspection::Limit::SIZE = 112

  # The offset of the numbers of a `pg_lease_info`.
  Inspection::Lease::NUMBERS = 72
  Inspection::Lease::SIZE = 96

  # The offsets of the fields of a `pg_ticket_info`.
  Inspection::Ticket::SHARE = 72
  Inspection::Ticket::WAITED = 208
  Inspection::Ticket::PRIORITY = 216
  Inspection::Ticket::SIZE = 224

  # The maximum length of a page.
  Inspection::MAX_PAGE = 250

  # The offsets of the fields of a `pg_inspection`.
  Inspection::LIMITS = 64
  Inspection::MODE = Inspection::LIMITS + (8 * Inspection::Limit::SIZE)
  Inspection::SIZE = Inspection::MODE + 16
end

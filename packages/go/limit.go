package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"time"
)

// Limit is one limit of a limiter, for [Store.Limiter] and [SetLimits]. The functions [Window],
// [Bucket], [Leaky], [Points], [Throttle], [Concurrency] and [Quota] make one; a kind ignores the
// fields that it does not use.
type Limit struct {
	Kind Kind
	// Amount is the limit or the capacity in units; the starts per interval of a throttle.
	Amount int64
	// Interval is the interval, the time to drain or refill fully, or how long a lease lasts.
	Interval time.Duration
	// Offset is how much earlier the intervals of a bucket start: two hours for UTC+2.
	Offset time.Duration
	// Label names the limit in decisions, costs and overrides; empty for the name of its kind. 1 to 32
	// characters: a to z first, then also digits, _ and -.
	Label string
	// Per is "day", "week", "month", "quarter" or "year", of a quota.
	Per string
	// Timezone is "UTC", an offset such as "+05:30", or a name such as "Europe/Berlin"; empty for UTC.
	Timezone string
	// Starts is where the periods of a quota start, such as "06:00", "sunday", "15" or "04-06"; empty
	// for midnight, Monday or the first day.
	Starts string
	// Refund is what a correction of leaky and points gives back: "full", or "undrained", at most what
	// cannot have drained since the grant. Empty for "full".
	Refund string
}

// Labeled returns the limit with a label.
func (l Limit) Labeled(label string) Limit {
	l.Label = label
	return l
}

// Bucket is a limit of so many units in each aligned interval.
func Bucket(limit int64, interval time.Duration) Limit {
	return Limit{Kind: KindBucket, Amount: limit, Interval: interval}
}

// Window is a limit of so many units in any interval, exactly.
func Window(limit int64, interval time.Duration) Limit {
	return Limit{Kind: KindWindow, Amount: limit, Interval: interval}
}

// Leaky is a limit with a burst of the capacity, which drains fully in the given time.
func Leaky(capacity int64, drain time.Duration) Limit {
	return Limit{Kind: KindLeaky, Amount: capacity, Interval: drain}
}

// Points is a budget of points that is full again after refill, for costs that are estimated first.
func Points(capacity int64, refill time.Duration) Limit {
	return Limit{Kind: KindPoints, Amount: capacity, Interval: refill}
}

// Throttle keeps starts at least the interval apart. Another Amount is that of starts per interval.
func Throttle(interval time.Duration) Limit {
	return Limit{Kind: KindThrottle, Amount: 1, Interval: interval}
}

// Concurrency is a limit of so many leases at once. [LockTimeout], or the Interval, is how long one
// lasts.
func Concurrency(limit int64) Limit {
	return Limit{Kind: KindConcurrency, Amount: limit, Interval: durationOf(C.pg_lock_timeout_us())}
}

// Quota is a limit of so many units in each period of the calendar: "day", "week", "month",
// "quarter" or "year".
func Quota(limit int64, per string) Limit {
	return Limit{Kind: KindQuota, Amount: limit, Per: per}
}

// nativeLimits converts limits to an array that is not NULL. The pinner keeps what it refers to.
func nativeLimits(limits []Limit, pinner *runtime.Pinner) (*C.pg_limit, C.size_t, error) {
	array := make([]C.pg_limit, max(len(limits), 1))
	pinner.Pin(&array[0])
	for i, limit := range limits {
		if err := limit.write(&array[i], pinner); err != nil {
			return nil, 0, err
		}
	}
	return &array[0], C.size_t(len(limits)), nil
}

// intervalName is what the constructor of a limit calls its interval.
func (l Limit) intervalName() string {
	switch l.Kind {
	case KindLeaky:
		return "drain"
	case KindPoints:
		return "refill"
	case KindConcurrency:
		return "LockTimeout"
	default:
		return "interval"
	}
}

func (l Limit) write(limit *C.pg_limit, pinner *runtime.Pinner) error {
	number := kindNumber(l.Kind)
	if number == -1 {
		return &InvalidError{Argument: "Kind", Reason: "is no kind of a limit: kind=" + string(l.Kind)}
	}
	if l.Kind == KindThrottle && l.Amount == 0 {
		// In C, 0 stands for 1.
		return &InvalidError{Argument: "limit", Reason: "must be from 1: limit=0"}
	}
	limit.kind = number
	limit.amount = C.int64_t(l.Amount)
	limit.interval_us = C.int64_t(l.Interval.Round(time.Microsecond) / time.Microsecond)
	limit.offset_us = C.int64_t(l.Offset.Round(time.Microsecond) / time.Microsecond)
	if l.Interval > 0 && limit.interval_us == 0 {
		// The library would name a time of 0, which the caller has not written.
		argument := l.intervalName()
		return &InvalidError{Argument: argument, Reason: "must be at least 1µs: " + argument + "=" + l.Interval.String()}
	}
	for _, it := range []struct {
		argument, value string
		place           **C.char
	}{
		{"label", l.Label, &limit.label}, {"per", l.Per, &limit.per}, {"Timezone", l.Timezone, &limit.timezone},
		{"Starts", l.Starts, &limit.starts}, {"Refund", l.Refund, &limit.refund},
	} {
		if it.value == "" {
			continue
		}
		converted, err := text(it.argument, it.value)
		if err != nil {
			return err
		}
		pinner.Pin(converted)
		*it.place = converted
	}
	return nil
}

func readLimit(limit *C.pg_labelled_limit) Limit {
	return Limit{
		Kind: nameOf(kinds, int32(limit.kind)), Amount: int64(limit.amount), Interval: durationOf(limit.interval_us),
		Offset: durationOf(limit.offset_us), Label: C.GoString(&limit.label[0]), Per: C.GoString(&limit.per[0]),
		Timezone: C.GoString(&limit.timezone[0]), Starts: C.GoString(&limit.starts[0]),
	}
}

func readLimits(array []C.pg_labelled_limit, count C.size_t) []Limit {
	limits := make([]Limit, count)
	for i := range limits {
		limits[i] = readLimit(&array[i])
	}
	return limits
}

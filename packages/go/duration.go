package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"math"
	"time"
)

// Unknown stands for a number or a time that does not exist, such as the time until the end of a
// pause without an end.
const Unknown = -1

// Forever is a [WaitTimeout] without an end.
const Forever time.Duration = math.MaxInt64

// maxMicros is the longest time that a [time.Duration] can be.
const maxMicros = math.MaxInt64 / int64(time.Microsecond)

// microsOf returns microseconds, rounded. A negative duration is invalid, because some negative
// numbers have a meaning in C.
func microsOf(argument string, duration time.Duration) (C.int64_t, error) {
	if duration < 0 {
		return 0, &InvalidError{Argument: argument, Reason: "must not be negative: " + duration.String()}
	}
	return C.int64_t(duration.Round(time.Microsecond) / time.Microsecond), nil
}

// waitMicros returns a maximum wait.
func waitMicros(duration time.Duration) (C.int64_t, error) {
	if duration == Forever {
		return C.PG_FOREVER, nil
	}
	return microsOf("WaitTimeout", duration)
}

// given returns microseconds, at least one: 0 stands for a default.
func given(argument string, duration time.Duration) (C.int64_t, error) {
	micros, err := microsOf(argument, duration)
	return max(micros, 1), err
}

// momentOf returns microseconds since 1970; a time before is invalid.
func momentOf(argument string, moment time.Time) (C.int64_t, error) {
	micros := moment.UnixMicro()
	if micros < 0 {
		return 0, &InvalidError{Argument: argument, Reason: "must not be before 1970: " + moment.String()}
	}
	return C.int64_t(micros), nil
}

// durationOf returns a duration; [Unknown] for -1.
func durationOf[T ~int64](micros T) time.Duration {
	if micros == -1 {
		return Unknown
	}
	if int64(micros) > maxMicros {
		return Forever
	}
	return time.Duration(micros) * time.Microsecond
}

// timeOf returns a time; the zero time for 0 and -1.
func timeOf[T ~int64](micros T) time.Time {
	if micros <= 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(micros))
}

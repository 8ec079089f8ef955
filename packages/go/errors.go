package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrClosed is the cause of an [InvalidError] whose store was closed.
var ErrClosed = errors.New("paddlegate: store is closed")

// OverLimitError says that a wait was refused or has timed out. Nothing was charged.
type OverLimitError struct {
	// Limiter is the name of the limiter; of several that decide together, of the one that refused.
	Limiter string
	// Reason is why the call was refused.
	Reason Reason
	// RetryAfter is when to come back, or [Unknown].
	RetryAfter time.Duration
	// Decision is the decision that refused.
	Decision *Decision

	cause error
}

func (e *OverLimitError) Error() string {
	retry := "unknown"
	if e.RetryAfter != Unknown {
		retry = e.RetryAfter.String()
	}
	return fmt.Sprintf("paddlegate: over the limit: limiter=%s reason=%s retry_after=%s", e.Limiter, e.Reason, retry)
}

// Unwrap returns [context.DeadlineExceeded] when the deadline of the context was nearer than the
// [WaitTimeout], otherwise nil.
func (e *OverLimitError) Unwrap() error { return e.cause }

// InvalidError says that a call is invalid. Nothing was changed.
type InvalidError struct {
	// Argument is the name of the invalid argument: of a parameter, an option or a field.
	Argument string
	// Reason is what is wrong with it.
	Reason string
}

func (e *InvalidError) Error() string { return "paddlegate: " + e.Argument + ": " + e.Reason }

// Unwrap returns [ErrClosed] for a call on a closed store, otherwise nil.
func (e *InvalidError) Unwrap() error {
	if e.Argument == "store" {
		return ErrClosed
	}
	return nil
}

// UnavailableError says that the store cannot decide now.
type UnavailableError struct {
	// MayHaveCounted tells whether the call may have been charged nevertheless.
	MayHaveCounted bool

	message string
	cause   error
}

func (e *UnavailableError) Error() string { return "paddlegate: " + e.message }

// Unwrap returns the error of the system, such as [syscall.ECONNREFUSED]; [os.ErrDeadlineExceeded] when
// the store gave no answer in time; otherwise nil.
func (e *UnavailableError) Unwrap() error { return e.cause }

var osError = regexp.MustCompile(`\(os error (\d+)\)`)

// causeOf returns the cause that a message of the library names.
func causeOf(message string) error {
	if found := osError.FindStringSubmatch(message); found != nil {
		if number, err := strconv.Atoi(found[1]); err == nil {
			return syscall.Errno(number)
		}
	}
	if strings.Contains(message, " in time") {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// DataError says that a stored value is damaged or was not written by this library: reset the
// limiter or use another database.
type DataError struct{ message string }

func (e *DataError) Error() string { return "paddlegate: " + e.message }

// InternalError is a defect of this library.
type InternalError struct{ message string }

func (e *InternalError) Error() string { return "paddlegate: " + e.message }

// errorOf returns the error of a call; nil for PG_OK.
func errorOf(code C.pg_code, e *C.pg_error) error {
	if code == C.PG_OK {
		return nil
	}
	message := C.GoString(&e.message[0])
	switch code {
	case C.PG_INVALID:
		return &InvalidError{Argument: inGo(C.GoString(&e.argument[0])), Reason: inDurations(message)}
	case C.PG_UNAVAILABLE:
		return &UnavailableError{MayHaveCounted: e.may_have_counted == 1, message: message, cause: causeOf(message)}
	case C.PG_DATA:
		return &DataError{message}
	default:
		return &InternalError{message}
	}
}

// optionNames has the arguments that are options or fields in Go.
var optionNames = map[string]string{
	"aging": "Aging", "block_after": "BlockAfter", "claim_timeout": "ClaimTimeout", "cost": "Cost",
	"estimate": "Estimate", "expires_at": "ExpiresAt", "expires_in": "ExpiresIn", "forwarded_for": "ForwardedFor",
	"group": "Group", "ipv6_prefix": "IPv6Prefix", "kind": "Kind", "local_share_percent": "LocalSharePercent", "lock_timeout": "LockTimeout",
	"max_learned": "MaxLearned", "max_pause": "MaxPause", "mode": "Mode", "offset": "Offset",
	"on_limit": "OnLimit", "on_unavailable": "OnUnavailable", "priority": "Priority", "provider": "Provider",
	"refund": "Refund", "remaining": "Remaining", "reset_at": "ResetAt", "reset_in": "ResetIn",
	"restore_rate": "RestoreRate", "settle_within": "SettleWithin", "share": "Share", "starts": "Starts",
	"status": "Status", "tenant": "Tenant", "timeout": "Timeout", "timezone": "Timezone", "trusted_proxies": "TrustedProxies",
	"ttl":          "TTL",
	"wait_timeout": "WaitTimeout", "weight": "Share",
	// A parameter with another name.
	"for": "duration",
}

// inGo returns an argument as a Go caller writes it.
func inGo(argument string) string {
	if name, ok := optionNames[argument]; ok {
		return name
	}
	words := strings.Split(argument, "_")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
	}
	return strings.Join(words, "")
}

var micros = regexp.MustCompile(`\b(\w+)_us=(\d+)`)

// inDurations shows the times in a message as Go does.
func inDurations(message string) string {
	return micros.ReplaceAllStringFunc(message, func(found string) string {
		parts := micros.FindStringSubmatch(found)
		number, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil || number > maxMicros {
			return found
		}
		return parts[1] + "=" + durationOf(number).String()
	})
}

// renamed names an argument as a method does that has another word for it. words are pairs.
func renamed(err error, words ...string) error {
	invalid, ok := err.(*InvalidError)
	for i := 0; ok && i < len(words); i += 2 {
		if invalid.Argument == words[i] {
			return &InvalidError{Argument: words[i+1], Reason: invalid.Reason}
		}
	}
	return err
}

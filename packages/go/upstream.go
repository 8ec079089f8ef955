package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// Response is the response of an upstream API, for [Limiter.LearnFromResponse].
type Response struct {
	// StatusCode is the status; 0 when it is not known.
	StatusCode int
	Header     http.Header
	Body       []byte
	// Permit is the id of the permit of the call, if it had one.
	Permit string
	// Provider is the name of a provider, such as "shopify"; empty to recognise it.
	Provider string
	// MaxPause is the longest pause that the response may ask for; 0 for one hour.
	MaxPause time.Duration
	// DefaultPause is the pause after a refusal that does not say for how long; 0 for none.
	DefaultPause time.Duration
	// MaxLearned is the highest limit that is learned; 0 for ten times the policy's own.
	MaxLearned int64
}

// Learned is what a report of the upstream changed. A value that the limiter already had is in
// neither list.
type Learned struct {
	// Settlement is that of the permit; empty when the report has no actual cost of a permit.
	Settlement Settlement
	// Learned has the values that changed: "limit", "interval", "remaining", "reset" and "pause"; with
	// several limits with their label, as in "remaining[rpm]".
	Learned []string
	// Ignored has those that changed nothing, with the reason: "remaining: calls are open".
	Ignored []string
	// Cost is the actual cost of the call, as the response reports it, otherwise [Unknown].
	Cost int64
	// Pause is the pause that the response asks for, otherwise [Unknown].
	Pause time.Duration
	// Scope and Bucket are what Discord reports of a refusal.
	Scope, Bucket string
}

// LearnFromResponse applies the response of an upstream API to the limiter, in all processes: it
// settles the permit of the call by its actual cost, corrects the remaining units, learns other limits,
// and pauses after a refusal. Content that cannot be parsed is ignored.
func (l *Limiter) LearnFromResponse(ctx context.Context, response Response) (*Learned, error) {
	texts, err := textsOf("Permit", response.Permit, "Provider", response.Provider)
	if err != nil {
		return nil, err
	}
	status, most := C.int32_t(C.PG_NOT_GIVEN), C.int64_t(C.PG_NOT_GIVEN)
	pause, untimed := C.int64_t(C.PG_NOT_GIVEN), C.int64_t(C.PG_NOT_GIVEN)
	if response.StatusCode != 0 {
		status = C.int32_t(response.StatusCode)
	}
	if response.MaxPause != 0 {
		if pause, err = microsOf("MaxPause", response.MaxPause); err != nil {
			return nil, err
		}
	}
	if response.DefaultPause != 0 {
		if untimed, err = microsOf("DefaultPause", response.DefaultPause); err != nil {
			return nil, err
		}
	}
	if response.MaxLearned < 0 {
		return nil, &InvalidError{Argument: "MaxLearned", Reason: "must not be negative"}
	}
	if response.MaxLearned != 0 {
		most = C.int64_t(response.MaxLearned)
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	words, count := headerWords(response.Header, &pinner)
	body := append(slices.Clone(response.Body), 0)
	learned, err := l.report(ctx, func(learned *C.pg_learned, e *C.pg_error) C.pg_code {
		return C.pg_learn_from_response(l.handle, optional(response.Permit, texts[0]),
			optional(response.Provider, texts[1]), status,
			(**C.char)(unsafe.Pointer(&words[0])), count, (*C.char)(unsafe.Pointer(&body[0])), C.size_t(len(body)-1),
			pause, untimed, most, learned, e)
	})
	return learned, renamed(err, "permit", "Permit", "headers", "Header", "body", "Body")
}

// headerWords returns names and values in turn, and their number. What cannot be a header is left out.
func headerWords(header http.Header, pinner *runtime.Pinner) ([]*C.char, C.size_t) {
	words := make([]*C.char, 0, 2*len(header)+1)
	for name, values := range header {
		for _, value := range values {
			pair, err := textsOf("Header", name, "Header", value)
			if err != nil {
				continue
			}
			pinner.Pin(pair[0])
			pinner.Pin(pair[1])
			words = append(words, pair...)
		}
	}
	count := C.size_t(len(words))
	return append(words, nil), count
}

// Budget is what an upstream reports of the budget behind one limit, for [Limiter.ReportBudget]. A nil
// number, or a zero time, is not known.
type Budget struct {
	// Label is that of the limit; empty for the only one.
	Label string
	// Permit is the id of the permit of the call to which the upstream replied, if it had one.
	Permit string
	// Remaining is the number of units left upstream, and Limit the number of the limit there.
	Remaining, Limit *int64
	// Interval is that of the limit upstream, or instead of it RestoreRate: units refilled per second.
	Interval    time.Duration
	RestoreRate float64
	// ResetIn is when the interval of a bucket ends, or ResetAt.
	ResetIn time.Duration
	ResetAt time.Time
}

// ReportBudget applies a report of the upstream, in all processes. An older report changes nothing.
func (l *Limiter) ReportBudget(ctx context.Context, budget Budget) (*Learned, error) {
	texts, err := textsOf("Label", budget.Label, "Permit", budget.Permit)
	if err != nil {
		return nil, err
	}
	var numbers [2]C.int64_t
	for i, number := range []*int64{budget.Remaining, budget.Limit} {
		numbers[i] = C.PG_NOT_GIVEN
		if number != nil {
			if *number < 0 {
				return nil, &InvalidError{Argument: []string{"Remaining", "Limit"}[i], Reason: "must not be negative"}
			}
			numbers[i] = C.int64_t(*number)
		}
	}
	interval, resetIn, resetAt := C.int64_t(C.PG_NOT_GIVEN), C.int64_t(C.PG_NOT_GIVEN), C.int64_t(C.PG_NOT_GIVEN)
	if budget.Interval != 0 {
		if interval, err = microsOf("Interval", budget.Interval); err != nil {
			return nil, err
		}
	}
	if budget.ResetIn != 0 {
		if resetIn, err = microsOf("ResetIn", budget.ResetIn); err != nil {
			return nil, err
		}
	}
	if !budget.ResetAt.IsZero() {
		if resetAt, err = momentOf("ResetAt", budget.ResetAt); err != nil {
			return nil, err
		}
	}
	learned, err := l.report(ctx, func(learned *C.pg_learned, e *C.pg_error) C.pg_code {
		return C.pg_report_budget(l.handle, optional(budget.Permit, texts[1]), optional(budget.Label, texts[0]), numbers[0],
			numbers[1], interval, C.double(budget.RestoreRate), resetIn, resetAt, learned, e)
	})
	return learned, renamed(err, "limit", "Limit", "interval", "Interval", "label", "Label", "permit", "Permit")
}

func (l *Limiter) report(ctx context.Context, call func(*C.pg_learned, *C.pg_error) C.pg_code) (*Learned, error) {
	learned := new(C.pg_learned)
	err := l.store.call(ctx, func(e *C.pg_error) C.pg_code { return call(learned, e) })
	runtime.KeepAlive(l)
	if err != nil {
		return nil, err
	}
	return &Learned{
		Settlement: nameOf(settlements, int32(learned.settlement)), Learned: lines(&learned.learned[0]),
		Ignored: lines(&learned.ignored[0]), Cost: int64(learned.cost), Pause: durationOf(learned.pause_us),
		Scope: C.GoString(&learned.scope[0]), Bucket: C.GoString(&learned.bucket[0]),
	}, nil
}

func lines(list *C.char) []string {
	if list := C.GoString(list); list != "" {
		return strings.Split(list, "\n")
	}
	return []string{}
}

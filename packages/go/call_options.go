package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"slices"
	"time"
)

// CallOption is an option of one call. Without any a call costs 1.
type CallOption interface{ applyCall(*callOptions) }

type callOptions struct {
	cost, estimate             Charge
	settleWithin, claimTimeout *time.Duration
	waitTimeout                *time.Duration
	priority                   *int64
	share                      *string
	weight                     *int64
	id, key, onLimit           *string
	eachLimit, partial         bool
}

type callOption func(*callOptions)

func (o callOption) applyCall(to *callOptions) { o(to) }

// Cost is what a call takes, final. 0 only looks.
func Cost(units int64) CallOption { return CostBy(Units(units)) }

// CostBy is a cost for each limit.
func CostBy(charge Charge) CallOption { return callOption(func(o *callOptions) { o.cost = charge }) }

// Estimate is what a call takes until its actual cost is known, see [Permit.PointsUsed].
func Estimate(units int64) CallOption { return EstimateBy(Units(units)) }

// EstimateBy is an estimate for each limit.
func EstimateBy(charge Charge) CallOption {
	return callOption(func(o *callOptions) { o.estimate = charge })
}

// SettleWithin is how long an estimate can be corrected, from 5 minutes, the default, to 7 days.
func SettleWithin(duration time.Duration) CallOption {
	return callOption(func(o *callOptions) { o.settleWithin = &duration })
}

// ID names a call, with 1 to 64 bytes: repeated, it takes nothing twice.
func ID(id string) CallOption { return callOption(func(o *callOptions) { o.id = &id }) }

// Key is the key of a limiter that is [Keyed].
func Key(key string) CallOption { return callOption(func(o *callOptions) { o.key = &key }) }

// Priority orders the calls that wait, from 0 to 9: higher first.
func Priority(priority int64) CallOption {
	return callOption(func(o *callOptions) { o.priority = &priority })
}

// Share says whose call this is. Shares take turns in the queue by what their calls cost; one with a
// higher weight, from 1 to 1000, gets more.
func Share(name string, weight int64) CallOption {
	return callOption(func(o *callOptions) { o.share, o.weight = &name, &weight })
}

// EachLimit makes a decision have [Decision.Limits].
func EachLimit() CallOption { return callOption(func(o *callOptions) { o.eachLimit = true }) }

// ClaimTimeout is how long a job that waits keeps its queue position after its turn.
func ClaimTimeout(duration time.Duration) CallOption {
	return callOption(func(o *callOptions) { o.claimTimeout = &duration })
}

// OnLimit is the [Action] for a job over the limit: "wait", "reschedule", "drop", "raise" or "ignore".
func OnLimit(action string) CallOption {
	return callOption(func(o *callOptions) { o.onLimit = &action })
}

// Partial makes [Limiter.AdmitAll] decide each job by itself.
func Partial() CallOption { return callOption(func(o *callOptions) { o.partial = true }) }

// WaitOption is an option of a limiter and of a call.
type WaitOption interface {
	LimiterOption
	CallOption
}

type waitTimeout time.Duration

func (o waitTimeout) applyLimiter(to *limiterOptions) {
	duration := time.Duration(o)
	to.waitTimeout = &duration
}

func (o waitTimeout) applyCall(to *callOptions) {
	duration := time.Duration(o)
	to.waitTimeout = &duration
}

// WaitTimeout is the maximum wait of [Limiter.Acquire] and [Limiter.WithinLimit], of a call or of all
// calls of a limiter: 0 does not wait, [Forever] waits without an end. The default is 5 seconds.
func WaitTimeout(duration time.Duration) WaitOption { return waitTimeout(duration) }

func callOptionsOf(options []CallOption) *callOptions {
	var o callOptions
	for _, option := range options {
		option.applyCall(&o)
	}
	return &o
}

// only refuses the options that a verb does not use, beside those of what it takes.
func (o *callOptions) only(verb string, used ...string) error {
	return o.onlyThese(verb, append(used, "Cost", "Estimate", "SettleWithin")...)
}

// onlyThese refuses the options that a verb does not use.
func (o *callOptions) onlyThese(verb string, used ...string) error {
	for _, it := range []struct {
		name    string
		isGiven bool
	}{
		{"Cost", o.cost != nil}, {"Estimate", o.estimate != nil}, {"SettleWithin", o.settleWithin != nil}, {"Key", o.key != nil},
		{"ID", o.id != nil}, {"EachLimit", o.eachLimit}, {"Priority", o.priority != nil}, {"Share", o.share != nil},
		{"OnLimit", o.onLimit != nil}, {"Partial", o.partial}, {"ClaimTimeout", o.claimTimeout != nil},
		{"WaitTimeout", o.waitTimeout != nil},
	} {
		if it.isGiven && !slices.Contains(used, it.name) {
			return &InvalidError{Argument: it.name, Reason: "is no option of " + verb}
		}
	}
	return nil
}

// request converts the options. It is NULL when all have their defaults. The pinner keeps what it
// refers to, and limits receives each limit.
func (o *callOptions) request(limits *C.pg_decision_limits, pinner *runtime.Pinner) (*C.pg_request, error) {
	hasOrder := o.priority != nil || o.share != nil || o.weight != nil
	if o.cost == nil && o.estimate == nil && o.settleWithin == nil && !hasOrder && limits == nil {
		return nil, nil
	}
	request := new(C.pg_request)
	pinner.Pin(request)
	var err error
	if o.cost != nil {
		request.cost, request.cost_by_label, request.cost_count, err = nativeUnits("Cost", o.cost, pinner)
		if err != nil {
			return nil, err
		}
		if request.cost_by_label == nil && request.cost == 0 {
			request.cost = C.PG_COST_ZERO
		}
	}
	if o.estimate != nil {
		request.estimate, request.estimate_by_label, request.estimate_count, err = nativeUnits("Estimate", o.estimate, pinner)
		if err != nil {
			return nil, err
		}
		if request.estimate_by_label == nil && request.estimate == 0 {
			request.estimate = C.PG_COST_ZERO
		}
	}
	if o.settleWithin != nil {
		if request.settle_within_us, err = given("SettleWithin", *o.settleWithin); err != nil {
			return nil, err
		}
	}
	if o.priority != nil {
		request.priority = C.int64_t(*o.priority)
	}
	if o.weight != nil {
		if *o.weight == 0 {
			// In C, 0 stands for the default.
			return nil, &InvalidError{Argument: "Share", Reason: "must have a weight from 1 to 1000: weight=0"}
		}
		request.weight = C.int64_t(*o.weight)
	}
	if o.share != nil {
		share, err := text("Share", *o.share)
		if err != nil {
			return nil, err
		}
		pinner.Pin(share)
		request.share = share
	}
	if limits != nil {
		pinner.Pin(limits)
		request.limits = limits
	}
	return request, nil
}

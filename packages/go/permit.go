//go:build cgo

package paddlegate

import (
	"context"
	"sync"
	"time"
)

// Permit is the permit of a grant. With a concurrency limit it holds a lease, which ends with
// [Permit.Release] or after its [LockTimeout]. All goroutines may use it.
type Permit struct {
	limiter   *Limiter
	decision  *Decision
	estimated bool

	lock sync.Mutex
	id   string
	// When the lease ends, by the clock of this process; the zero time without one.
	endsAt   time.Time
	released Settlement
	lost     bool
}

func newPermit(limiter *Limiter, decision *Decision, sentAt time.Time, estimated bool) *Permit {
	p := &Permit{limiter: limiter, decision: decision, estimated: estimated, id: decision.Permit}
	if decision.Lease != Unknown {
		p.endsAt = sentAt.Add(decision.Lease)
	}
	return p
}

// Decision returns the decision that granted the permit.
func (p *Permit) Decision() *Decision { return p.decision }

// ID returns the id with which any process can correct, extend, release and renew; empty without an
// estimate or a concurrency limit. It changes when an extension is granted.
func (p *Permit) ID() string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.id
}

// FencingToken returns a number that rises with every lease, so that a resource can reject late
// holders; [Unknown] without a concurrency limit.
func (p *Permit) FencingToken() int64 { return p.decision.FencingToken }

// Degraded tells whether the limiter has granted the permit without its store, see [OnUnavailable].
func (p *Permit) Degraded() bool { return p.decision.Degraded }

// ExpiresIn returns for how long the lease lasts at least; [Unknown] without a concurrency limit.
func (p *Permit) ExpiresIn() time.Duration {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.endsAt.IsZero() {
		return Unknown
	}
	return max(time.Until(p.endsAt), 0)
}

// Lost tells whether the lease ended before its release, so that another call may have its slot. It
// makes no call.
func (p *Permit) Lost() bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.isLost()
}

func (p *Permit) isLost() bool {
	return !p.endsAt.IsZero() && (p.lost || p.released == "" && !time.Now().Before(p.endsAt))
}

// Release ends the lease: [Released], [SettledLate] when it had ended before, or [SettledUnknown] when
// no such lease exists and without a concurrency limit. Later calls return the same.
func (p *Permit) Release(ctx context.Context) (Settlement, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.endsAt.IsZero() {
		return SettledUnknown, nil
	}
	if p.released != "" {
		return p.released, nil
	}
	late := p.isLost()
	settlement, err := p.limiter.Release(ctx, p.id)
	if err != nil {
		return "", err
	}
	p.released, p.lost = settlement, late || settlement != Released
	return settlement, nil
}

// Renew restarts the duration of the lease. It returns false when the lease has ended or was released,
// and without a concurrency limit.
func (p *Permit) Renew(ctx context.Context) (bool, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.endsAt.IsZero() || p.released != "" {
		return false, nil
	}
	sentAt := time.Now()
	lease, err := p.limiter.Renew(ctx, p.id)
	if err != nil {
		return false, err
	}
	p.lost = lease == Unknown
	if !p.lost {
		p.endsAt = sentAt.Add(lease)
	}
	return !p.lost, nil
}

// PointsUsed replaces the estimate by the actual cost, once: see [Permit.Correct].
func (p *Permit) PointsUsed(ctx context.Context, units int64) (Settlement, error) {
	return p.Correct(ctx, Units(units))
}

// Correct replaces the estimate by the actual cost, once: [Settled], or [AlreadySettled],
// [SettledLate] or [SettledUnknown], which change nothing. It is invalid for a call without an
// estimate.
func (p *Permit) Correct(ctx context.Context, actual Charge) (Settlement, error) {
	if !p.estimated {
		return "", &InvalidError{Argument: "Estimate", Reason: "only a call with an estimate can be corrected"}
	}
	return p.limiter.Correct(ctx, p.ID(), actual)
}

// Extend reserves more units for this call, such as a stream that grows: all of them or nothing. It
// returns the decision, and after a grant [Permit.Correct] compares with the sum; or for a permit that
// is not open no decision, and [AlreadySettled], [SettledLate] or [SettledUnknown].
func (p *Permit) Extend(ctx context.Context, units Charge) (*Decision, Settlement, error) {
	if !p.estimated {
		return nil, "", &InvalidError{Argument: "Estimate", Reason: "only a call with an estimate can be extended"}
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	decision, settlement, err := p.limiter.Extend(ctx, p.id, units)
	if err == nil && decision != nil && decision.Allowed() && decision.Permit != "" {
		p.id = decision.Permit
	}
	return decision, settlement, err
}

// LearnFromResponse applies the upstream's response to this call: see [Limiter.LearnFromResponse]. The
// cost in the response settles the estimate.
func (p *Permit) LearnFromResponse(ctx context.Context, response Response) (*Learned, error) {
	response.Permit = p.ID()
	return p.limiter.LearnFromResponse(ctx, response)
}

package paddlegate

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

type object = map[string]any

// do makes the call of a step.
func (r *replay) do(it *step) (any, error) {
	l := r.limiter
	switch it.Do {
	case "acquire":
		var decision *Decision
		var err error
		for range max(it.Times, 1) {
			if decision, err = l.TryAcquire(context.Background(), r.options(it)...); err != nil {
				return nil, err
			}
		}
		r.keep(it.Permit, decision)
		r.last = decision
		return r.decision(decision), nil
	case "peek":
		decision, err := l.Peek(context.Background(), r.options(it)...)
		r.last = decision
		return r.decided(decision, err)
	case "headers":
		return r.last.Headers(it.Fields)
	case "caller_key":
		options := []CallerOption{TrustedProxies(it.TrustedProxies...)}
		if it.ForwardedFor != nil {
			options = append(options, ForwardedFor(*it.ForwardedFor))
		}
		if it.IPv6Prefix != nil {
			options = append(options, IPv6Prefix(*it.IPv6Prefix))
		}
		return CallerKey(it.Address, options...)
	case "plain_key":
		if it.Hex != "" {
			bytes, err := hex.DecodeString(it.Hex)
			return PlainKey(string(bytes)), err
		}
		return PlainKey(it.Text), nil
	case "debit":
		return r.decided(l.Debit(context.Background(), r.charge(it.Cost)))
	case "refund":
		return r.decided(l.Refund(context.Background(), r.charge(it.Units)))
	case "enter":
		return r.enter(it)
	case "correct":
		return l.Correct(context.Background(), r.permit(it), r.charge(it.Actual))
	case "extend":
		decision, settlement, err := l.Extend(context.Background(), r.permit(it), r.charge(it.Units))
		if err != nil || decision == nil {
			return settlement, err
		}
		if decision.Allowed() {
			as := it.As
			if as == "" {
				as = it.Permit
			}
			r.permits[as] = decision.Permit
		}
		return r.decision(decision), nil
	case "release":
		return l.Release(context.Background(), r.permit(it))
	case "renew":
		lease, err := l.Renew(context.Background(), r.permit(it))
		return us(lease), err
	case "cancel":
		return l.cancel(it.ID, it.GaveUp)
	case "statistics":
		return statistics(l.Stats(context.Background()))
	case "history":
		return r.history(l.History(context.Background()))
	case "inspect", "queue":
		count := 100
		if it.Count != nil {
			count = *it.Count
		}
		return inspected(it.Do, l, it.Offset, count)
	case "ready":
		count := MaxReady
		if it.Count != nil {
			count = *it.Count
		}
		return l.Ready(context.Background(), count)
	case "learn":
		body, err := answer(it)
		if err != nil {
			return nil, err
		}
		return told(l.LearnFromResponse(context.Background(), Response{StatusCode: it.Status, Header: headersOf(it.Headers), Body: body,
			Permit: r.permit(it), Provider: it.Provider, DefaultPause: time.Duration(it.DefaultPauseUs) * time.Microsecond, MaxLearned: it.MaxLearned}))
	case "sync":
		budget := Budget{Label: it.Label, Permit: r.permit(it), Remaining: it.Remaining, Limit: it.Amount}
		if it.IntervalUs != nil {
			budget.Interval = durationOf(*it.IntervalUs)
		}
		if it.ResetInUs != nil {
			budget.ResetIn = durationOf(*it.ResetInUs)
		}
		if it.ResetAtUs != nil {
			budget.ResetAt = time.UnixMicro(*it.ResetAtUs)
		}
		return told(l.ReportBudget(context.Background(), budget))
	case "reset":
		return nil, l.Reset(context.Background())
	case "limits":
		r.limiter = r.create(r.name, it.Limits)
		return nil, nil
	case "together":
		return nil, nil
	default:
		return r.state(it)
	}
}

// state makes the call of a step that answers with the state in force.
func (r *replay) state(it *step) (any, error) {
	l := r.limiter
	var changes []OverrideOption
	if it.ExpiresInUs != nil {
		changes = append(changes, ExpiresIn(durationOf(*it.ExpiresInUs)))
	}
	if it.ExpiresAtUs != nil {
		changes = append(changes, ExpiresAt(time.UnixMicro(*it.ExpiresAtUs)))
	}
	switch it.Do {
	case "pause":
		if it.UntilUs != nil {
			return state(l.PauseUntil(context.Background(), time.UnixMicro(*it.UntilUs)))
		}
		return state(l.Pause(context.Background(), durationOf(*it.ForUs)))
	case "block":
		if it.UntilUs != nil {
			return state(l.BlockUntil(context.Background(), time.UnixMicro(*it.UntilUs)))
		}
		return state(l.Block(context.Background(), durationOf(*it.ForUs)))
	case "resume":
		return state(l.Resume(context.Background()))
	case "controls":
		return state(l.RuntimeState(context.Background()))
	case "restore":
		return state(l.Restore(context.Background(), it.Label))
	case "mode":
		if it.Mode == "" {
			return state(l.RestoreMode(context.Background()))
		}
		return state(l.Override(context.Background(), append(changes, SetMode(it.Mode))...))
	case "overrides":
		return state(l.Override(context.Background(), append(changes, SetLimits(limitsOf(it.Limits)...))...))
	case "override":
		if it.Amount != nil {
			changes = append(changes, SetLimit(*it.Amount))
		}
		if it.IntervalUs != nil {
			changes = append(changes, SetInterval(durationOf(*it.IntervalUs)))
		}
		return state(l.Override(context.Background(), append(changes, OfLabel(it.Label))...))
	}
	return nil, fmt.Errorf("there is no step %s", it.Do)
}

func (r *replay) options(it *step) []CallOption {
	var options []CallOption
	if it.Cost != nil {
		options = append(options, CostBy(r.charge(it.Cost)))
	}
	if it.Estimate != nil {
		options = append(options, EstimateBy(r.charge(it.Estimate)))
	}
	if it.SettleWithinUs != nil {
		options = append(options, SettleWithin(durationOf(*it.SettleWithinUs)))
	}
	if it.Priority != nil {
		options = append(options, Priority(*it.Priority))
	}
	if it.Describe {
		options = append(options, EachLimit())
	}
	return options
}

// enter makes the call behind Enqueue, Claim and Acquire.
func (r *replay) enter(it *step) (any, error) {
	o := callOptionsOf(r.options(it))
	if it.Share != nil {
		Share(*it.Share, 1).applyCall(o)
	}
	if it.Weight != nil {
		o.weight = it.Weight
	}
	var place *wait
	if it.PatienceUs != nil {
		place = &wait{maxWaitUs: *it.PatienceUs, claimTimeoutUs: it.GraceUs}
		if number, ok := it.Place.(json.Number); ok {
			place.position, _ = number.Int64()
		} else if it.Place == "kept" {
			place.position = -1
		}
	}
	native, err := r.limiter.enter(context.Background(), it.ID, o, place)
	if err != nil {
		return nil, err
	}
	d := r.limiter.read(native)
	r.keep(it.Permit, d)
	shown := r.decision(d)
	delete(shown, "allowed")
	shown["status"] = d.Status
	if d.Status == StatusNoTicket {
		shown["status"] = "gone"
	}
	shown["lease_us"], shown["fence"], shown["number"] = us(d.Lease), known(d.FencingToken), known(d.Ticket)
	shown["position"], shown["ready_after_us"] = known(d.Position), us(d.ReadyAfter)
	return shown, nil
}

func (r *replay) keep(label string, decision *Decision) {
	if label != "" {
		r.permits[label] = decision.Permit
	}
}

func (r *replay) decided(decision *Decision, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return r.decision(decision), nil
}

func (r *replay) decision(d *Decision) object {
	shown := object{"allowed": d.Allowed(), "limit": known(d.Limit), "remaining": known(d.Remaining), "retry_after_us": us(d.RetryAfter),
		"reset_after_us": us(d.ResetAfter), "reason": some(string(d.Reason)), "label": some(d.Label), "at_us": moment(d.At)}
	if d.IsLowered {
		shown["is_lowered"] = true
	}
	if d.WouldRefuse != "" {
		shown["would_refuse"] = d.WouldRefuse
	}
	if d.Limiter != "" {
		shown["limiter"] = d.Limiter[len(r.name)+1:]
	}
	return shown
}

func state(s *RuntimeState, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	// As in the vectors: sorted by label.
	numbers := func(limits map[string]Limit) []object {
		shown := []object{}
		for _, label := range slices.Sorted(maps.Keys(limits)) {
			it := limits[label]
			shown = append(shown, object{"label": it.Label, "kind": it.Kind, "amount": it.Amount, "interval_us": us(it.Interval)})
		}
		return shown
	}
	shown := object{"version": s.Version, "paused_for_us": us(s.PausedFor), "overrides": numbers(s.Overrides),
		"expires_in_us": us(s.ExpiresIn), "learned": numbers(s.Learned)}
	if s.BlockedFor != Unknown {
		shown["blocked_for_us"] = us(s.BlockedFor)
	}
	if s.Mode != "" {
		shown["mode"] = s.Mode
	}
	return shown, nil
}

// answer gives the body, or the usage of a body that is fed in chunks.
func answer(it *step) ([]byte, error) {
	body := []byte(it.Body)
	if it.ChunkBytes == 0 {
		return body, nil
	}
	usage, err := NewStreamUsage()
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(body, it.ChunkBytes) {
		if _, err := usage.Write(chunk); err != nil {
			return nil, err
		}
	}
	ignored, err := usage.Ignored()
	if err == nil && !slices.Equal(ignored, it.Unread) {
		err = fmt.Errorf("ignored %q, not %q", ignored, it.Unread)
	}
	if err != nil {
		return nil, err
	}
	return usage.Body()
}

func told(learned *Learned, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return object{"settlement": some(string(learned.Settlement)), "learned": learned.Learned, "ignored": learned.Ignored}, nil
}

// us gives microseconds; nil for an unknown time.
func us(duration time.Duration) any {
	if duration == Unknown {
		return nil
	}
	return duration.Microseconds()
}

func known(number int64) any {
	if number == Unknown {
		return nil
	}
	return number
}

func some(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func moment(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

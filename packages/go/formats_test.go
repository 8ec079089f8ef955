package paddlegate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRunsOfAConductorWorkflowWaitInTheirOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		const definition = `{"name":"order","tasks":[],"rateLimitConfig":{"rateLimitKey":"${workflow.correlationId}","concurrentExecLimit":1}}`
		key := unique()
		limiter, err := store.ConductorLimiter(definition, `{"correlationId":"`+key+`"}`, DocumentOptions{LockTimeout: time.Hour})
		must(t, err)
		if limiter.Name() != "conductor/workflow/"+key {
			t.Errorf("name=%s", limiter.Name())
		}
		first, err := limiter.Admit(context.Background(), "1")
		must(t, err)
		if first.Action != ActionRun || first.Permit.ExpiresIn() < 30*time.Minute {
			t.Errorf("first=%+v", first)
		}
		if second, err := limiter.Admit(context.Background(), "2"); err != nil || second.Action != ActionWait {
			t.Errorf("second=%+v error=%v", second, err)
		}
		var invalid *InvalidError
		_, err = store.ConductorLimiter(strings.Replace(definition, "}}", `,"policy":"LATER"}}`, 1), "{}", DocumentOptions{})
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "$.rateLimitConfig.policy") {
			t.Errorf("error=%v", err)
		}
		if _, err = store.ConductorLimiter(definition, "{}", DocumentOptions{LockTimeout: -1}); !errors.As(err, &invalid) || invalid.Argument != "LockTimeout" {
			t.Errorf("error=%v", err)
		}
		if _, err = store.ConductorLimiter(definition, "{}", DocumentOptions{Tenant: "t"}); !errors.As(err, &invalid) || invalid.Argument != "Tenant" {
			t.Errorf("error=%v", err)
		}
	})
}

func TestLimitersOfADocumentGrantWithoutTheirStore(t *testing.T) {
	store := open(t, "redis://127.0.0.1:1", Timeout(10*time.Second))
	open := DocumentOptions{OnUnavailable: "fail_open"}
	loaded, err := store.Load([]byte(`{"limiters":{"erp":{"bucket":{"limit":1,"per":"day"}}}}`), open)
	must(t, err)
	run, err := store.ConductorLimiter(`{"name":"order","tasks":[],"rateLimitConfig":{"rateLimitKey":"k","concurrentExecLimit":1}}`, "{}", open)
	must(t, err)
	for _, limiter := range []*Limiter{loaded["erp"], run} {
		if decision, err := limiter.TryAcquire(context.Background()); err != nil || !decision.Allowed() || !decision.Degraded {
			t.Errorf("%s: decision=%+v error=%v", limiter, decision, err)
		}
	}
	var invalid *InvalidError
	for _, options := range []DocumentOptions{{OnUnavailable: "guess"}, {OnUnavailable: "local", LocalSharePercent: 101}} {
		if _, err := store.Load([]byte(`{"limiters":{"erp":{"bucket":{"limit":1,"per":"day"}}}}`), options); !errors.As(err, &invalid) {
			t.Errorf("error=%v", err)
		}
	}
}

func TestOpenJobSpecPausesAndOverrides(t *testing.T) {
	onBothAtOneTime(t, func(t *testing.T, store *Store) {
		jobs, err := store.Limiter(unique(), []Limit{Concurrency(2), Window(10, time.Hour)})
		must(t, err)
		if paused, err := jobs.ApplyOJSSignal(context.Background(), `{"type":"timeout"}`); err != nil || paused {
			t.Errorf("paused=%t error=%v", paused, err)
		}
		if paused, err := jobs.ApplyOJSSignal(context.Background(), `{"error":{"type":"rate_limited","retry_after":30}}`); err != nil || !paused {
			t.Errorf("paused=%t error=%v", paused, err)
		}
		state, err := jobs.ApplyOJSOverride(context.Background(), `{"concurrency":4}`)
		if err != nil || state.PausedFor != 30*time.Second || len(state.Overrides) != 1 || state.Overrides["concurrency"].Amount != 4 {
			t.Errorf("state=%+v error=%v", state, err)
		}
		var invalid *InvalidError
		if _, err := jobs.ApplyOJSOverride(context.Background(), `{`); !errors.As(err, &invalid) || invalid.Argument != "document" {
			t.Errorf("error=%v", err)
		}
	})
}

func TestAGateCountsByTheSlotThatMatches(t *testing.T) {
	onBothAtOneTime(t, func(t *testing.T, store *Store) {
		slot := unique()
		gate, err := store.InvantiveGate([]byte(`{"RateLimitControlList":[{"SlotName":"` + slot + `","Context":"a*"}],
			"RateLimitControlSlotList":[{"Name":"` + slot + `","ActionsPerHour":1,"DelayMsOnOverflowHour":5,"FailOnOverflowHour":true}]}`))
		must(t, err)
		if other, err := gate.Admit(context.Background(), RequestAttributes{Context: "b"}); err != nil || !other.Allowed || other.Slot != "" {
			t.Errorf("decision=%+v error=%v", other, err)
		}
		called := 0
		body := func(decision *GateDecision) error {
			if called++; decision.Slot != slot || decision.Level != "" {
				t.Errorf("decision=%+v", decision)
			}
			return nil
		}
		must(t, gate.WithinLimit(context.Background(), RequestAttributes{Context: "ab"}, body))
		err = gate.WithinLimit(context.Background(), RequestAttributes{Context: "ab"}, body)
		var over *OverLimitError
		if !errors.As(err, &over) || over.Limiter != slot || over.RetryAfter <= 0 || called != 1 {
			t.Errorf("error=%v called=%d", err, called)
		}
		refused, err := gate.Admit(context.Background(), RequestAttributes{Context: "ab"})
		if err != nil || refused.Allowed || refused.Level != "hour" || refused.Delay != 5*time.Millisecond || refused.Reason != "bucket" {
			t.Errorf("decision=%+v error=%v", refused, err)
		}
		var invalid *InvalidError
		if _, err := store.InvantiveGate([]byte("{")); !errors.As(err, &invalid) || invalid.Argument != "document" {
			t.Errorf("error=%v", err)
		}
	})
}

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
		limiter, err := store.ConductorLimiter(definition, `{"correlationId":"`+key+`"}`, time.Hour)
		must(t, err)
		if limiter.Name() != "conductor/workflow/"+key {
			t.Errorf("name=%s", limiter.Name())
		}
		first, err := limiter.Admit("1")
		must(t, err)
		if first.Action != ActionRun || first.Permit.ExpiresIn() < 30*time.Minute {
			t.Errorf("first=%+v", first)
		}
		if second, err := limiter.Admit("2"); err != nil || second.Action != ActionWait {
			t.Errorf("second=%+v error=%v", second, err)
		}
		var invalid *InvalidError
		_, err = store.ConductorLimiter(strings.Replace(definition, "}}", `,"policy":"LATER"}}`, 1), "{}", 0)
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "$.rateLimitConfig.policy") {
			t.Errorf("error=%v", err)
		}
		if _, err = store.ConductorLimiter(definition, "{}", -1); !errors.As(err, &invalid) || invalid.Argument != "lockTimeout" {
			t.Errorf("error=%v", err)
		}
	})
}

func TestOpenJobSpecPausesAndOverrides(t *testing.T) {
	onBothAtOneTime(t, func(t *testing.T, store *Store) {
		jobs, err := store.Limiter(unique(), []Limit{Concurrency(2), Window(10, time.Hour)})
		must(t, err)
		if paused, err := jobs.ApplyOJSSignal(`{"type":"timeout"}`); err != nil || paused {
			t.Errorf("paused=%t error=%v", paused, err)
		}
		if paused, err := jobs.ApplyOJSSignal(`{"error":{"type":"rate_limited","retry_after":30}}`); err != nil || !paused {
			t.Errorf("paused=%t error=%v", paused, err)
		}
		state, err := jobs.ApplyOJSOverride(`{"concurrency":4}`)
		if err != nil || state.PausedFor != 30*time.Second || len(state.Overrides) != 1 || state.Overrides[0].Amount != 4 {
			t.Errorf("state=%+v error=%v", state, err)
		}
		var invalid *InvalidError
		if _, err := jobs.ApplyOJSOverride(`{`); !errors.As(err, &invalid) || invalid.Argument != "document" {
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
		if other, err := gate.Admit(RequestAttributes{Context: "b"}); err != nil || !other.Allowed || other.Slot != "" {
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
		refused, err := gate.Admit(RequestAttributes{Context: "ab"})
		if err != nil || refused.Allowed || refused.Level != "hour" || refused.Delay != 5*time.Millisecond || refused.Reason != "bucket" {
			t.Errorf("decision=%+v error=%v", refused, err)
		}
		var invalid *InvalidError
		if _, err := store.InvantiveGate([]byte("{")); !errors.As(err, &invalid) || invalid.Argument != "document" {
			t.Errorf("error=%v", err)
		}
	})
}

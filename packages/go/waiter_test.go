package paddlegate

import (
	"reflect"
	"testing"
	"time"
)

type waitingCase struct {
	Title          string
	OwnsID         bool  `json:"owns_id"`
	MaxWaitUs      int64 `json:"max_wait_us"`
	ClaimTimeoutUs int64 `json:"claim_timeout_us"`
	PatienceUs     int64 `json:"patience_us"`
	NowUs          int64 `json:"now_us"`
	Steps          []struct {
		Do, Channel, Status string
		NowUs               int64  `json:"now_us"`
		AtUs                int64  `json:"at_us"`
		RetryAfterUs        *int64 `json:"retry_after_us"`
		Ticket              *int64
		Degraded, Delivered bool
		MayHaveCounted      bool `json:"may_have_counted"`
		Expect              any
	}
}

// TestWaiting replays the rules of a waiting call, which all languages share.
func TestWaiting(t *testing.T) {
	var file struct {
		ReconnectPausesUs []int64 `json:"reconnect_pauses_us"`
		Cases, Jobs       []waitingCase
	}
	decode(t, vectors+"/waiting.json", &file)
	for failures, pause := range file.ReconnectPausesUs {
		if got := reconnectPause(failures); got != durationOf(pause) {
			t.Errorf("failures=%d: expected %d us, got %s", failures, pause, got)
		}
	}
	for _, it := range file.Cases {
		w, err := newWaiter(it.OwnsID, it.MaxWaitUs, it.NowUs)
		must(t, err)
		t.Run(it.Title, func(t *testing.T) { replayWait(t, w, it) })
	}
	for _, it := range file.Jobs {
		w, err := newJobWaiter(it.ClaimTimeoutUs, it.PatienceUs, it.NowUs)
		must(t, err)
		t.Run(it.Title, func(t *testing.T) { replayWait(t, w, it) })
	}
}

func replayWait(t *testing.T, w *waiter, it waitingCase) {
	for number, step := range it.Steps {
		var answer any
		switch step.Do {
		case "next":
			next, err := w.next(step.NowUs, step.Channel)
			must(t, err)
			shown := object{"max_wait_us": next.maxWaitUs, "ticket": nil}
			if next.position != 0 {
				shown["ticket"] = next.position
			}
			if _, ok := step.Expect.(object)["channel"]; ok {
				shown["channel"] = next.channel
				if next.claimTimeoutUs != it.ClaimTimeoutUs || next.keepUs != time.Minute.Microseconds() {
					t.Errorf("step %d: claim_timeout_us=%d keep_us=%d", number+1, next.claimTimeoutUs, next.keepUs)
				}
			}
			answer = shown
		case "decision":
			answer = w.onDecision(step.NowUs, queued(step.Status, step.RetryAfterUs, step.Ticket, step.Degraded))
		case "error":
			w.onError(&UnavailableError{MayHaveCounted: step.MayHaveCounted})
		case "wakeup":
			w.onWakeup(step.AtUs)
		case "retry_at":
			answer = w.retryAt(step.Channel)
		case "must_cancel":
			answer = w.mustCancel(step.Delivered)
		default:
			t.Fatalf("there is no step %s", step.Do)
		}
		if step.Expect != nil {
			if answer = plain(t, answer); !reflect.DeepEqual(step.Expect, answer) {
				t.Fatalf("step %d: expected %v, got %v", number+1, step.Expect, answer)
			}
		}
	}
}

// queued makes a decision with what matters for a wait.
func queued(status string, retryAfterUs, ticket *int64, degraded bool) *nativeDecision {
	made := new(nativeDecision)
	for number, name := range statuses {
		if string(name) == status {
			set(&made.decision.status, int64(number))
		}
	}
	made.decision.retry_after_us, made.decision.ticket = Unknown, Unknown
	if retryAfterUs != nil {
		set(&made.decision.retry_after_us, *retryAfterUs)
	}
	if ticket != nil {
		set(&made.decision.ticket, *ticket)
	}
	if degraded {
		made.decision.degraded = 1
	}
	return made
}

// set writes a number of C, whose types tests cannot name.
func set[T ~int32 | ~int64](place *T, number int64) { *place = T(number) }

package paddlegate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAPermitIsCorrectedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		shop, err := store.Points(unique(), 1000, 20*time.Hour)
		must(t, err)
		permit, err := shop.Acquire(context.Background(), Estimate(200))
		must(t, err)
		for _, expected := range []Settlement{Settled, AlreadySettled} {
			if settlement, err := permit.PointsUsed(context.Background(), 50); err != nil || settlement != expected {
				t.Errorf("settlement=%s error=%v", settlement, err)
			}
		}
		if look, err := shop.Peek(context.Background(), Cost(0)); err != nil || look.Remaining != 950 {
			t.Errorf("decision=%+v error=%v", look, err)
		}
		if _, settlement, err := permit.Extend(context.Background(), Units(1)); err != nil || settlement != AlreadySettled {
			t.Errorf("settlement=%s error=%v", settlement, err)
		}
		final, err := shop.Acquire(context.Background(), Cost(1))
		must(t, err)
		var invalid *InvalidError
		if _, err := final.PointsUsed(context.Background(), 1); !errors.As(err, &invalid) || invalid.Argument != "Estimate" {
			t.Errorf("error=%v", err)
		}
		if settlement, err := final.Release(context.Background()); err != nil || settlement != SettledUnknown {
			t.Errorf("no lease: settlement=%s error=%v", settlement, err)
		}
	})
}

func TestAPermitGrows(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		model, err := store.Limiter(unique(), []Limit{Window(500, time.Hour).Labeled("rpm"), Points(1000, 20*time.Hour).Labeled("tpm")})
		must(t, err)
		permit, err := model.Acquire(context.Background(), EstimateBy(ByLabel{"tpm": 100}))
		must(t, err)
		id := permit.ID()
		decision, settlement, err := permit.Extend(context.Background(), ByLabel{"tpm": 200})
		if err != nil || settlement != "" || !decision.Allowed() || permit.ID() == id {
			t.Fatalf("decision=%+v settlement=%s error=%v", decision, settlement, err)
		}
		if refused, _, err := permit.Extend(context.Background(), ByLabel{"tpm": 900}); err != nil || refused.Allowed() {
			t.Errorf("decision=%+v error=%v", refused, err)
		}
		if settlement, err := permit.Correct(context.Background(), ByLabel{"tpm": 270}); err != nil || settlement != Settled {
			t.Errorf("settlement=%s error=%v", settlement, err)
		}
		look, err := model.Peek(context.Background(), CostBy(ByLabel{"tpm": 0}), EachLimit())
		must(t, err)
		if len(look.Limits) != 2 || look.Limits[0].Label != "rpm" || look.Limits[0].Remaining != 499 || look.Limits[1].Remaining != 730 {
			t.Errorf("limits=%+v", look.Limits)
		}
	})
}

func TestALeaseThatEndsIsLost(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		slots, err := store.Concurrent(unique(), 1, LockTimeout(20*time.Millisecond))
		must(t, err)
		permit, err := slots.Acquire(context.Background())
		must(t, err)
		eventually(t, "the lease is lost", permit.Lost)
		// On a machine that stalls the server has granted it later than it was asked.
		eventually(t, "the lease has ended", func() bool {
			inspection, err := slots.Inspect(context.Background(), 0, 1)
			must(t, err)
			return len(inspection.Leases) == 0
		})
		if permit.ExpiresIn() != 0 {
			t.Errorf("expires_in=%s", permit.ExpiresIn())
		}
		if renewed, err := permit.Renew(context.Background()); err != nil || renewed {
			t.Errorf("renewed=%t error=%v", renewed, err)
		}
		if settlement, err := permit.Release(context.Background()); err != nil || settlement != SettledLate || !permit.Lost() {
			t.Errorf("settlement=%s error=%v", settlement, err)
		}
		long, err := store.Concurrent(unique(), 1, LockTimeout(time.Hour))
		must(t, err)
		held, err := long.Acquire(context.Background())
		must(t, err)
		if renewed, err := held.Renew(context.Background()); err != nil || !renewed || held.Lost() || held.ExpiresIn() < 30*time.Minute {
			t.Errorf("renewed=%t error=%v expires_in=%s", renewed, err, held.ExpiresIn())
		}
	})
}

func TestJobsKeepTheirPlace(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		workers, err := store.Concurrent(unique(), 1, LockTimeout(time.Hour))
		must(t, err)
		first, err := workers.Admit(context.Background(), "a")
		must(t, err)
		second, err := workers.Admit(context.Background(), "b", ClaimTimeout(time.Hour))
		must(t, err)
		if first.Action != ActionRun || second.Action != ActionWait || second.Decision.Position != 0 || second.Permit != nil {
			t.Fatalf("first=%+v second=%+v", first, second)
		}
		for action, expected := range map[string]Action{"raise": ActionRefuse, "drop": ActionDrop, "reschedule": ActionReschedule} {
			if other, err := workers.Admit(context.Background(), "c-"+action, OnLimit(action)); err != nil || other.Action != expected {
				t.Errorf("on_limit=%s admission=%+v error=%v", action, other, err)
			}
		}
		if settlement, err := workers.Cancel(context.Background(), "c-reschedule"); err != nil || settlement != Cancelled {
			t.Errorf("settlement=%s error=%v", settlement, err)
		}
		_, err = first.Permit.Release(context.Background())
		must(t, err)
		if ready, err := workers.Ready(context.Background(), MaxReady); err != nil || !slices.Equal(ready, []string{"b"}) {
			t.Errorf("ready=%v error=%v", ready, err)
		}
		if second, err = workers.Admit(context.Background(), "b"); err != nil || second.Action != ActionRun {
			t.Errorf("second=%+v error=%v", second, err)
		}
		if all, err := workers.AdmitAll(context.Background(), []string{"d", "e"}); err != nil || len(all) != 2 || all[0].Action != ActionWait || all[1].Decision.Allowed() {
			t.Errorf("all=%+v error=%v", all, err)
		}
		// "b" runs already.
		each, err := workers.AdmitAll(context.Background(), []string{"b", "f"}, Partial())
		if err != nil || len(each) != 2 || each[0].Action != ActionRun || each[1].Action != ActionWait || each[1].Decision.Status != StatusQueued {
			t.Errorf("each=%+v error=%v", each, err)
		}
	})
}

func TestJobsOfAKeyReleaseTheirLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		workers, err := store.Concurrent(unique(), 2, LockTimeout(time.Hour), Keyed())
		must(t, err)
		both, err := workers.AdmitAll(context.Background(), []string{"1", "2"}, Key("ann"))
		must(t, err)
		if third, err := workers.Admit(context.Background(), "3", Key("ann")); err != nil || third.Action != ActionWait {
			t.Errorf("third=%+v error=%v", third, err)
		}
		for _, admission := range both {
			if renewed, err := admission.Permit.Renew(context.Background()); err != nil || !renewed {
				t.Errorf("renewed=%t error=%v", renewed, err)
			}
			if settlement, err := admission.Permit.Release(context.Background()); err != nil || settlement != Released {
				t.Errorf("settlement=%s error=%v", settlement, err)
			}
		}
		if third, err := workers.Admit(context.Background(), "3", Key("ann")); err != nil || third.Action != ActionRun {
			t.Errorf("third=%+v error=%v", third, err)
		}
	})
}

func TestAJobThatIsDecidedByItselfHasNoEstimate(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		mails, err := store.Window(unique(), 10, time.Hour, Keyed())
		must(t, err)
		one, err := mails.Admit(context.Background(), "1", Key("ann"))
		must(t, err)
		each, err := mails.AdmitAll(context.Background(), []string{"2"}, Partial(), Key("ann"))
		must(t, err)
		for _, admission := range []*Admission{one, each[0]} {
			var invalid *InvalidError
			if _, err := admission.Permit.PointsUsed(context.Background(), 0); !errors.As(err, &invalid) || invalid.Argument != "Estimate" {
				t.Errorf("error=%v", err)
			}
		}
		// Jobs that are decided together can be corrected.
		all, err := mails.AdmitAll(context.Background(), []string{"3"}, Key("ann"))
		must(t, err)
		if settlement, err := all[0].Permit.PointsUsed(context.Background(), 0); err != nil || settlement != Settled {
			t.Errorf("settlement=%s error=%v", settlement, err)
		}
	})
}

func TestTickets(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		workers, err := store.Concurrent(unique(), 1, LockTimeout(time.Hour), Keyed())
		must(t, err)
		held, err := workers.TryAcquire(context.Background(), Key("k"))
		must(t, err)
		ticket, err := workers.Enqueue(context.Background(), "job", Key("k"), ClaimTimeout(time.Hour))
		must(t, err)
		claim, err := workers.Claim(context.Background(), "job", Key("k"))
		must(t, err)
		if ticket.Status != StatusQueued || claim.Status != StatusQueued || ticket.Ticket != claim.Ticket {
			t.Errorf("ticket=%+v claim=%+v", ticket, claim)
		}
		one, err := workers.WithKey("k")
		must(t, err)
		if queue, err := one.Queue(context.Background(), 0, 10); err != nil || len(queue) != 1 || queue[0].ID != "job" {
			t.Errorf("queue=%+v error=%v", queue, err)
		}
		_, err = one.Release(context.Background(), held.Permit)
		must(t, err)
		if claim, err = workers.Claim(context.Background(), "job", Key("k")); err != nil || claim.Status != StatusGranted {
			t.Errorf("claim=%+v error=%v", claim, err)
		}
		if claim, err = workers.Claim(context.Background(), "other", Key("k")); err != nil || claim.Status != StatusNoTicket {
			t.Errorf("claim=%+v error=%v", claim, err)
		}
	})
}

func TestLimitersDecideTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		org, err := store.Bucket(unique(), 100, 24*time.Hour, Group("acme"))
		must(t, err)
		user, err := store.Window(unique(), 2, time.Hour, Group("acme"))
		must(t, err)
		both, err := store.Together([]*Limiter{org, user}, WaitTimeout(0))
		must(t, err)
		decision, err := both.TryAcquire(context.Background(), CostBy(ByLimiter{org.Name(): Units(10), user.Name(): ByLabel{"window": 2}}), EachLimit())
		must(t, err)
		if !decision.Allowed() || decision.Limiter != user.Name() || len(decision.Limits) != 2 || decision.Limits[0].Limiter != org.Name() {
			t.Errorf("decision=%+v", decision)
		}
		var over *OverLimitError
		if _, err := both.Acquire(context.Background()); !errors.As(err, &over) || over.Limiter != user.Name() {
			t.Errorf("error=%v", err)
		}
		var invalid *InvalidError
		if _, err := both.Pause(context.Background(), time.Second); !errors.As(err, &invalid) || invalid.Argument != "pause" {
			t.Errorf("error=%v", err)
		}
		if _, err := store.Together([]*Limiter{org, nil}); !errors.As(err, &invalid) || invalid.Argument != "limiters" {
			t.Errorf("error=%v", err)
		}
	})
}

func TestALimitChangesWhileItRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		shop, err := store.Points(unique(), 1000, time.Hour)
		must(t, err)
		state, err := shop.Override(context.Background(), SetLimit(500), ExpiresIn(time.Hour))
		if err != nil || state.Overrides["points"].Amount != 500 || state.ExpiresIn <= 0 {
			t.Fatalf("state=%+v error=%v", state, err)
		}
		if decision, err := shop.TryAcquire(context.Background(), Cost(600)); err != nil || decision.Reason != ReasonTooLarge {
			t.Errorf("decision=%+v error=%v", decision, err)
		}
		_, err = shop.Restore(context.Background(), "")
		must(t, err)
		_, err = shop.PauseUntil(context.Background(), time.Now().Add(time.Hour))
		must(t, err)
		_, err = shop.Block(context.Background(), time.Hour)
		must(t, err)
		state, err = shop.RuntimeState(context.Background())
		if err != nil || state.PausedFor < 30*time.Minute || state.BlockedFor < 30*time.Minute || len(state.Overrides) != 0 {
			t.Errorf("state=%+v error=%v", state, err)
		}
		if decision, err := shop.TryAcquire(context.Background(), Cost(1)); err != nil || decision.Allowed() {
			t.Errorf("decision=%+v error=%v", decision, err)
		}
		_, err = shop.Resume(context.Background())
		must(t, err)
		if allowed, err := shop.Allow(context.Background(), Cost(600)); err != nil || !allowed {
			t.Errorf("allowed=%t error=%v", allowed, err)
		}
		must(t, shop.Reset(context.Background()))
		if look, err := shop.Peek(context.Background(), Cost(0)); err != nil || look.Remaining != 1000 {
			t.Errorf("decision=%+v error=%v", look, err)
		}
	})
}

func TestADocumentAndTheListOfLimiters(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		prefix := unique()
		limiters, err := store.Load([]byte(`{"limiters":{"`+prefix+`-erp":{"concurrency":{"limit":1,"lock_timeout":"30m"},"on_limit":"drop"},"`+
			prefix+`-api":{"window":{"limit":2,"per":"minute"}}}}`), DocumentOptions{})
		must(t, err)
		erp, api := limiters[prefix+"-erp"], limiters[prefix+"-api"]
		for number, action := range []Action{ActionRun, ActionDrop} {
			if admission, err := erp.Admit(context.Background(), string(rune('a'+number))); err != nil || admission.Action != action {
				t.Errorf("admission=%+v error=%v", admission, err)
			}
		}
		_, err = api.Allow(context.Background())
		must(t, err)
		listed, err := store.Limiters(context.Background(), prefix)
		if err != nil || len(listed) != 2 || listed[0].Name != api.Name() || listed[1].Limits[0].Kind != KindConcurrency {
			t.Errorf("listed=%+v error=%v", listed, err)
		}
		page, cursor, err := store.LimiterPage(context.Background(), prefix, "")
		for err == nil && cursor != "" {
			var more []LimiterInfo
			more, cursor, err = store.LimiterPage(context.Background(), prefix, cursor)
			page = append(page, more...)
		}
		if err != nil || len(page) < 2 {
			t.Errorf("page=%+v error=%v", page, err)
		}
		var invalid *InvalidError
		_, err = store.Load([]byte(`{"limiters":{"erp":{"window":{"limit":0,"per":60}}}}`), DocumentOptions{})
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "$.limiters.erp") {
			t.Errorf("error=%v", err)
		}
	})
}

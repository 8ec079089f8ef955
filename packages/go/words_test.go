package paddlegate

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestErrorsNameWhatTheCallerWrote has arguments that Go has in other words than the library.
func TestErrorsNameWhatTheCallerWrote(t *testing.T) {
	store := open(t, "memory://")
	points, err := store.Points(unique(), 1000, 20*time.Second)
	must(t, err)
	slots, err := store.Concurrent(unique(), 1)
	must(t, err)
	limiter := func(options ...LimiterOption) error {
		_, err := store.Window(unique(), 1, time.Minute, options...)
		return err
	}
	acquire := func(options ...CallOption) error {
		_, err := points.Acquire(context.Background(), options...)
		return err
	}
	enqueue := func(options ...CallOption) error {
		_, err := slots.Enqueue(context.Background(), "a", options...)
		return err
	}
	override := func(changes ...OverrideOption) error {
		_, err := points.Override(context.Background(), changes...)
		return err
	}
	of := func(_ any, err error) error { return err }
	negative := int64(-1)
	for argument, errs := range map[string][]error{
		"url":               {of(Open("http://a")), of(Open("a\x00b")), of(Open("\xff"))},
		"Timeout":           {of(Open("memory://", Timeout(0))), of(Open("memory://", Timeout(time.Hour))), of(Open("", Timeout(-1)))},
		"name":              {of(store.Window("", 1, time.Minute))},
		"interval":          {of(store.Window("a", 1, -time.Minute)), of(store.Window("a", 1, Forever)), of(store.Throttle("a", 0))},
		"limit":             {of(store.Window("a", -1, time.Minute)), of(store.Concurrent("a", math.MaxInt64))},
		"drain":             {of(store.Leaky("a", 1, 0))},
		"refill":            {of(store.Points("a", 1, 0))},
		"per":               {of(store.Quota("a", 1, "fortnight"))},
		"Timezone":          {of(store.Limiter("a", []Limit{{Kind: KindQuota, Amount: 1, Per: "day", Timezone: "Mars"}}))},
		"Starts":            {of(store.Limiter("a", []Limit{{Kind: KindQuota, Amount: 1, Per: "day", Starts: "noon"}}))},
		"Offset":            {of(store.Limiter("a", []Limit{{Kind: KindBucket, Amount: 1, Interval: time.Hour, Offset: time.Hour}}))},
		"Refund":            {of(store.Limiter("a", []Limit{{Kind: KindLeaky, Amount: 1, Interval: time.Hour, Refund: "half"}}))},
		"Kind":              {of(store.Limiter("a", []Limit{{Kind: "windows", Amount: 1, Interval: time.Hour}}))},
		"label":             {of(store.Limiter("a", []Limit{Window(1, time.Hour).Labeled("RPM")}))},
		"limits":            {of(store.Limiter("a", nil))},
		"LockTimeout":       {limiter(LockTimeout(time.Hour)), of(store.Concurrent("a", 1, LockTimeout(0)))},
		"TTL":               {limiter(TTL(0)), limiter(TTL(-1))},
		"Group":             {limiter(Group("")), limiter(Group("\xff"))},
		"Mode":              {limiter(Mode("off"))},
		"BlockAfter":        {limiter(BlockAfter(0, time.Minute, time.Minute)), limiter(BlockAfter(1, -time.Minute, time.Minute))},
		"Aging":             {limiter(Aging(0)), limiter(Aging(-time.Second))},
		"OnUnavailable":     {limiter(OnUnavailable("panic"))},
		"LocalSharePercent": {limiter(OnUnavailable("local"), LocalSharePercent(-1)), limiter(LocalSharePercent(101))},
		"WaitTimeout":       {limiter(WaitTimeout(-1)), acquire(Cost(1), WaitTimeout(-1)), enqueue(WaitTimeout(-1))},
		"Cost":              {acquire(Cost(1001)), acquire(CostBy(ByLabel{"a": 1})), acquire(Cost(-1))},
		"Estimate":          {acquire(), acquire(Estimate(-1))},
		"SettleWithin":      {acquire(Estimate(1), SettleWithin(0)), acquire(Estimate(1), SettleWithin(-1))},
		"Priority":          {acquire(Cost(1), Priority(10)), acquire(Cost(1), Priority(-1))},
		"Share":             {acquire(Cost(1), Share("", 1)), acquire(Cost(1), Share("a", 0)), acquire(Cost(1), Share("a", 1001))},
		"ID":                {acquire(Cost(1), ID(strings.Repeat("a", 65))), of(points.TryAcquire(context.Background(), Cost(1), ID("")))},
		"ClaimTimeout":      {enqueue(ClaimTimeout(0)), enqueue(ClaimTimeout(-1)), of(slots.Admit(context.Background(), "a", ClaimTimeout(-1)))},
		"OnLimit":           {of(slots.Admit(context.Background(), "a", OnLimit("explode")))},
		"id":                {of(slots.Admit(context.Background(), "")), of(slots.Cancel(context.Background(), "")), of(slots.Enqueue(context.Background(), strings.Repeat("a", 65)))},
		"key":               {acquire(Cost(1), Key("a"))},
		"permit":            {of(points.Correct(context.Background(), "a\x00b", Units(1)))},
		"actual":            {of(points.Correct(context.Background(), "", nil))},
		"charge":            {of(points.Debit(context.Background(), Units(-1))), of(points.Debit(context.Background(), ByLabel{"points": -1})), of(points.Debit(context.Background(), nil))},
		"count":             {of(slots.Ready(context.Background(), 0)), of(slots.Ready(context.Background(), 101)), of(slots.Ready(context.Background(), -1)), of(slots.Inspect(context.Background(), 0, -1)), of(slots.Inspect(context.Background(), 0, 1001))},
		"offset":            {of(slots.Inspect(context.Background(), -1, 1))},
		"duration":          {of(points.Pause(context.Background(), -1))},
		"until":             {of(points.PauseUntil(context.Background(), time.Unix(-1, 0)))},
		"SetLimit":          {override(SetLimit(-1)), override(SetLimit(math.MaxInt64))},
		"SetInterval":       {override(SetInterval(0)), override(SetInterval(-1))},
		"OfLabel":           {override(SetLimit(1), OfLabel("window"))},
		"SetMode":           {override(SetMode("off")), override(SetMode("shadow"), SetLimit(1))},
		"SetLimits":         {override(SetLimits()), override(SetLimits(Window(1, time.Hour)), SetLimit(1))},
		"ExpiresIn":         {override(SetLimit(1), ExpiresIn(-1))},
		"Remaining":         {of(points.ReportBudget(context.Background(), Budget{Remaining: &negative}))},
		"Label":             {of(points.ReportBudget(context.Background(), Budget{Label: "window", Interval: time.Hour}))},
		"Provider":          {of(points.LearnFromResponse(context.Background(), Response{Provider: "acme"}))},
		"DefaultPause":      {of(points.LearnFromResponse(context.Background(), Response{DefaultPause: -1}))},
		"MaxLearned":        {of(points.LearnFromResponse(context.Background(), Response{MaxLearned: -1}))},
		"cursor":            {func() error { _, _, err := store.LimiterPage(context.Background(), "", "page 2"); return err }()},
	} {
		for number, err := range errs {
			var invalid *InvalidError
			if !errors.As(err, &invalid) || invalid.Argument != argument {
				t.Errorf("argument=%s call=%d error=%v", argument, number, err)
			}
		}
	}
	if _, err := slots.Allow(context.Background()); err == nil {
		t.Error("a lease cannot be released without its permit")
	}
}

func TestMessagesAreInDurations(t *testing.T) {
	store := open(t, "memory://")
	_, err := store.Window("a", 1, 4000*24*time.Hour)
	if err == nil || !strings.Contains(err.Error(), "interval=96000h0m0s") || strings.Contains(err.Error(), "_us") {
		t.Errorf("error=%v", err)
	}
	if !strings.HasPrefix(err.Error(), "paddlegate: interval: ") {
		t.Errorf("error=%v", err)
	}
}

// TestNames compares the constants with the names of the library.
func TestNames(t *testing.T) {
	for _, kind := range []Kind{KindBucket, KindWindow, KindLeaky, KindPoints, KindThrottle, KindUnlimited, KindPaused, KindConcurrency, KindQuota} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("kind=%s", kind)
		}
	}
	for _, reason := range []Reason{ReasonPaused, ReasonBlocked, ReasonTooLarge, ReasonUnavailable} {
		if !slices.Contains(reasons, reason) {
			t.Errorf("reason=%s", reason)
		}
	}
	if expected := []Action{ActionRefuse, ActionRun, ActionWait, ActionReschedule, ActionDrop}; !slices.Equal(actions, expected) {
		t.Errorf("actions=%v", actions)
	}
	expected := []Settlement{Settled, AlreadySettled, SettledLate, SettledUnknown, Released, Cancelled}
	if !slices.Equal(settlements[3:], expected) {
		t.Errorf("settlements=%v", settlements)
	}
	if Version() == "" {
		t.Error("no version")
	}
	if units, err := GraphQLCost("{ shop { name } }", "", "", "shopify"); err != nil || units < 1 {
		t.Errorf("units=%d error=%v", units, err)
	}
}

// Each verb with the options that it has no use for.
func TestAVerbRefusesTheOptionsThatItDoesNotUse(t *testing.T) {
	store := open(t, "memory://")
	limiter, err := store.Window(unique(), 10, time.Minute)
	must(t, err)
	ctx := context.Background()
	all := map[string]CallOption{
		"Cost": Cost(1), "Estimate": Estimate(1), "SettleWithin": SettleWithin(time.Hour), "Key": Key("a"), "ID": ID("a"),
		"EachLimit": EachLimit(), "Priority": Priority(1), "Share": Share("a", 1), "OnLimit": OnLimit("wait"),
		"Partial": Partial(), "ClaimTimeout": ClaimTimeout(time.Minute), "WaitTimeout": WaitTimeout(0),
	}
	for verb, it := range map[string]struct {
		call   func(CallOption) error
		unused []string
	}{
		"Allow": {
			func(o CallOption) error { _, err := limiter.Allow(context.Background(), o); return err },
			[]string{"ID", "EachLimit", "Priority", "Share", "OnLimit", "Partial", "ClaimTimeout", "WaitTimeout"},
		},
		"TryAcquire": {
			func(o CallOption) error { _, err := limiter.TryAcquire(context.Background(), o); return err },
			[]string{"Priority", "Share", "OnLimit", "Partial", "ClaimTimeout", "WaitTimeout"},
		},
		"Peek": {
			func(o CallOption) error { _, err := limiter.Peek(context.Background(), o); return err },
			[]string{"ID", "Priority", "Share", "OnLimit", "Partial", "ClaimTimeout", "WaitTimeout"},
		},
		"Acquire": {
			func(o CallOption) error { _, err := limiter.Acquire(ctx, o); return err },
			[]string{"OnLimit", "Partial", "ClaimTimeout"},
		},
		"Admit": {
			func(o CallOption) error { _, err := limiter.Admit(context.Background(), "a", o); return err },
			[]string{"ID", "Partial", "WaitTimeout"},
		},
		"AdmitAll": {
			func(o CallOption) error {
				_, err := limiter.AdmitAll(context.Background(), []string{"a"}, o)
				return err
			},
			[]string{
				"Cost", "Estimate", "SettleWithin", "ID", "EachLimit", "Priority", "Share", "ClaimTimeout", "WaitTimeout",
			},
		},
		"Enqueue": {
			func(o CallOption) error { _, err := limiter.Enqueue(context.Background(), "a", o); return err },
			[]string{"ID", "OnLimit", "Partial"},
		},
		"Claim": {
			func(o CallOption) error { _, err := limiter.Claim(context.Background(), "a", o); return err },
			[]string{"ID", "OnLimit", "Partial"},
		},
		"Turns": {
			func(o CallOption) error {
				for _, err := range limiter.Turns(ctx, 1, o, WaitTimeout(0)) {
					return err
				}
				return nil
			},
			[]string{
				"Cost", "Estimate", "SettleWithin", "ID", "EachLimit", "Priority", "Share", "OnLimit", "Partial", "ClaimTimeout",
			},
		},
	} {
		for name, option := range all {
			var invalid *InvalidError
			refused := errors.As(it.call(option), &invalid) && strings.HasPrefix(invalid.Reason, "is no option of ")
			if refused != slices.Contains(it.unused, name) || refused && invalid.Argument != name {
				t.Errorf("verb=%s option=%s refused=%t error=%v", verb, name, refused, invalid)
			}
		}
	}
}

func TestATimeOfSomeNanosecondsIsNamed(t *testing.T) {
	_, err := open(t, "memory://").Window(unique(), 1, 60*time.Nanosecond)
	var invalid *InvalidError
	if !errors.As(err, &invalid) || !strings.Contains(invalid.Reason, "interval=60ns") {
		t.Errorf("error=%v", err)
	}
}

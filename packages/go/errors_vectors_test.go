package paddlegate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

type misuse struct {
	Title  string
	Do     string
	Name   *string
	Limits []struct {
		Kind, Label string
		Amount      *int64
		Interval    *float64
		IntervalUs  int64 `json:"interval_us"`
		OffsetUs    int64 `json:"offset_us"`
	}
	Cost, Estimate, Actual json.RawMessage
	Permit                 string
	NowUs                  int64 `json:"now_us"`
	Expect                 struct{ Kind, Argument string }
}

// TestErrors replays the shared cases of misuse that Go's types can express.
func TestErrors(t *testing.T) {
	var file struct{ Cases []json.RawMessage }
	decode(t, vectors+"/errors.json", &file)
	replayed := 0
	for _, text := range file.Cases {
		var it misuse
		text := strings.ReplaceAll(string(text), `"$2^53"`, "9007199254740992")
		charges, ok := expressible(text, &it)
		if !ok {
			continue
		}
		replayed++
		t.Run(it.Title, func(t *testing.T) { misused(t, it, charges) })
	}
	if replayed < 150 {
		t.Errorf("only %d cases were replayed", replayed)
	}
}

func expressible(text string, it *misuse) ([3]Charge, bool) {
	var charges [3]Charge
	// An empty label is that of the kind, and a name is always there.
	if json.Unmarshal([]byte(text), it) != nil || it.Title == "a label that is empty" || it.Title == "no name" {
		return charges, false
	}
	for i, raw := range []json.RawMessage{it.Cost, it.Estimate, it.Actual} {
		var number int64
		var labels map[string]*int64
		switch {
		case raw == nil || string(raw) == "null":
		case json.Unmarshal(raw, &number) == nil:
			charges[i] = Units(number)
		case json.Unmarshal(raw, &labels) == nil:
			by := ByLabel{}
			for label, units := range labels {
				if units == nil {
					return charges, false
				}
				by[label] = *units
			}
			charges[i] = by
		default:
			return charges, false
		}
	}
	return charges, true
}

func misused(t *testing.T, it misuse, charges [3]Charge) {
	store := open(t, "memory://")
	limits := make([]Limit, len(it.Limits))
	for i, limit := range it.Limits {
		amount := int64(0)
		if limit.Amount != nil {
			amount = *limit.Amount
		} else if limit.Kind == "throttle" {
			amount = 1
		}
		limits[i] = Limit{Kind: Kind(limit.Kind), Amount: amount, Interval: durationOf(limit.IntervalUs),
			Offset: durationOf(limit.OffsetUs), Label: limit.Label}
		if limit.Interval != nil {
			limits[i].Interval = time.Duration(*limit.Interval * float64(time.Second))
		}
	}
	name := unique()
	if it.Name != nil {
		name = *it.Name
	}
	limiter, err := store.Limiter(name, limits)
	if it.Do != "limiter" {
		must(t, err)
		err = misuseOf(limiter, it, charges)
	}
	expected := inGo(it.Expect.Argument)
	if it.Do == "debit" && expected == "Cost" {
		expected = "charge"
	}
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.Argument != expected || !strings.Contains(err.Error(), expected) {
		t.Fatalf("expected argument=%s, got %v", expected, err)
	}
	if it.Do != "limiter" {
		look, err := limiter.Peek(context.Background(), Cost(0))
		must(t, err)
		if look.Remaining != look.Limit {
			t.Errorf("remaining=%d limit=%d: something was changed", look.Remaining, look.Limit)
		}
	}
}

func misuseOf(limiter *Limiter, it misuse, charges [3]Charge) error {
	var options []CallOption
	if charges[0] != nil {
		options = append(options, CostBy(charges[0]))
	}
	if charges[1] != nil {
		options = append(options, EstimateBy(charges[1]))
	}
	var err error
	switch it.Do {
	case "acquire":
		_, err = limiter.TryAcquire(context.Background(), options...)
	case "peek":
		_, err = limiter.Peek(context.Background(), options...)
	case "debit":
		_, err = limiter.Debit(context.Background(), charges[0])
	case "correct":
		_, err = limiter.Correct(context.Background(), it.Permit, charges[2])
	case "clock":
		_, err = NewTestClock(time.UnixMicro(it.NowUs))
	}
	return err
}

package paddlegate

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

const vectors = "../../tests/vectors"

type vector struct {
	Title    string
	Name     *string
	Limits   []vectorLimit
	Limiters []vectorLimiter
	Steps    []step
}

type vectorLimit struct {
	Kind, Label, Per, Timezone, Starts, Refund string
	Amount                                     int64
	IntervalUs                                 int64 `json:"interval_us"`
	OffsetUs                                   int64 `json:"offset_us"`
}

type vectorLimiter struct {
	Name       string
	Limits     []vectorLimit
	Keyed      bool
	Statistics *bool
	Mode       string
	BlockAfter *struct {
		Refusals int64
		WithinUs int64 `json:"within_us"`
		ForUs    int64 `json:"for_us"`
	} `json:"block_after"`
}

type step struct {
	Do, ID, Error, Permit, As, Label, Mode, Provider, Body string
	Fields, Address, Text, Hex                             string
	ForwardedFor                                           *string  `json:"forwarded_for"`
	TrustedProxies                                         []string `json:"trusted_proxies"`
	IPv6Prefix                                             *int     `json:"ipv6_prefix"`
	Describe                                               bool
	Share                                                  *string
	Expect, Of, Place                                      any
	Cost, Estimate, Actual, Units                          any
	Keys, Modes, Groups                                    map[string]string
	Limits                                                 []vectorLimit
	Headers                                                [][2]string
	Times, Status, Offset                                  int
	Count                                                  *int
	Priority, Weight, Amount, Remaining                    *int64
	MaxLearned                                             int64 `json:"max_learned"`
	DefaultPauseUs                                         int64 `json:"default_pause_us"`
	ChunkBytes                                             int   `json:"chunk_bytes"`
	Unread                                                 []string
	GaveUp                                                 bool   `json:"gave_up"`
	AtUs                                                   *int64 `json:"at_us"`
	SettleWithinUs                                         *int64 `json:"settle_within_us"`
	PatienceUs                                             *int64 `json:"patience_us"`
	GraceUs                                                int64  `json:"grace_us"`
	ForUs                                                  *int64 `json:"for_us"`
	UntilUs                                                *int64 `json:"until_us"`
	IntervalUs                                             *int64 `json:"interval_us"`
	ExpiresInUs                                            *int64 `json:"expires_in_us"`
	ExpiresAtUs                                            *int64 `json:"expires_at_us"`
	ResetInUs                                              *int64 `json:"reset_in_us"`
	ResetAtUs                                              *int64 `json:"reset_at_us"`
}

// TestVectors replays the shared vectors through the public interface, on both stores.
func TestVectors(t *testing.T) {
	clock, err := NewTestClock(time.UnixMicro(1_700_000_000_000_000))
	must(t, err)
	stores := map[string]*Store{}
	for name, url := range map[string]string{"memory": "memory://", "redis": testURL(t)} {
		// Shared by all cases, so that names which collide show.
		stores[name] = open(t, url, Clock(clock), Timeout(10*time.Second))
	}
	prefix := "go-" + newID()
	files, err := filepath.Glob(vectors + "/*.json")
	must(t, err)
	for _, path := range files {
		var file struct {
			Name  string
			Cases []vector
		}
		if base := filepath.Base(path); base == "errors.json" || base == "waiting.json" {
			continue
		}
		decode(t, path, &file)
		for index, it := range file.Cases {
			for store := range stores {
				t.Run(store+"/"+file.Name+"/"+it.Title, func(t *testing.T) {
					name := fmt.Sprintf("%s-%s-%d", prefix, file.Name, index)
					if it.Name != nil {
						name = fmt.Sprintf("%s-%s-%s", prefix, file.Name, *it.Name)
					}
					replay := &replay{T: t, store: stores[store], name: name, vector: it, permits: map[string]string{}}
					replay.run(clock)
				})
			}
		}
	}
}

// replay is one case.
type replay struct {
	*testing.T
	store   *Store
	name    string
	vector  vector
	limiter *Limiter
	each    map[string]*Limiter
	permits map[string]string
	last    *Decision
}

func (r *replay) run(clock *TestClock) {
	if r.vector.Limiters == nil {
		r.limiter = r.create(r.name, r.vector.Limits)
	} else {
		r.each = map[string]*Limiter{}
		for _, it := range r.vector.Limiters {
			r.each[it.Name] = r.createOf(it)
		}
	}
	for number, it := range r.vector.Steps {
		if it.AtUs != nil {
			must(r.T, clock.Set(time.UnixMicro(*it.AtUs)))
		}
		err := r.choose(&it)
		var answer any
		if err == nil {
			answer, err = r.do(&it)
		}
		if it.Error != "" {
			r.refused(number, &it, err)
			continue
		}
		must(r.T, err)
		if it.Expect != nil || it.Do == "renew" {
			if answer = plain(r.T, answer); !reflect.DeepEqual(it.Expect, answer) {
				r.Fatalf("step %d: expected %v, got %v", number+1, it.Expect, answer)
			}
		}
	}
}

// refused checks the error of a step, whose argument may have another word in Go.
func (r *replay) refused(number int, it *step, err error) {
	words := map[string]string{"debit cost": "charge", "override limit": "SetLimit", "override interval": "SetInterval",
		"override label": "OfLabel", "overrides limits": "SetLimits", "mode mode": "SetMode"}
	expected, ok := words[it.Do+" "+it.Error]
	if !ok {
		expected = inGo(it.Error)
	}
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.Argument != expected {
		r.Fatalf("step %d: expected argument=%s, got %v", number+1, expected, err)
	}
}

func (r *replay) create(name string, limits []vectorLimit, options ...LimiterOption) *Limiter {
	limiter, err := r.store.Limiter(name, limitsOf(limits), options...)
	must(r.T, err)
	return limiter
}

func (r *replay) createOf(it vectorLimiter) *Limiter {
	var options []LimiterOption
	if it.Keyed {
		options = append(options, Keyed())
	}
	if it.Statistics != nil && !*it.Statistics {
		options = append(options, WithoutStatistics())
	}
	if it.Mode != "" {
		options = append(options, Mode(it.Mode))
	}
	if rule := it.BlockAfter; rule != nil {
		options = append(options, BlockAfter(rule.Refusals, durationOf(rule.WithinUs), durationOf(rule.ForUs)))
	}
	return r.create(r.name+"."+it.Name, it.Limits, options...)
}

// choose takes the limiter that a step is of.
func (r *replay) choose(it *step) error {
	if r.each == nil {
		return nil
	}
	names, single := []string{}, false
	switch of := it.Of.(type) {
	case string:
		names, single = []string{of}, true
	case []any:
		for _, name := range of {
			names = append(names, name.(string))
		}
	default:
		for _, limiter := range r.vector.Limiters {
			names = append(names, limiter.Name)
		}
	}
	limiters := make([]*Limiter, len(names))
	for i, name := range names {
		var err error
		if limiters[i], err = r.choice(name, it); err != nil {
			return err
		}
	}
	if single {
		r.limiter = limiters[0]
		return nil
	}
	var err error
	r.limiter, err = r.store.Together(limiters)
	return err
}

func (r *replay) choice(name string, it *step) (*Limiter, error) {
	chosen := r.each[name]
	if group, ok := it.Groups[name]; ok {
		return r.store.Window(r.name+"."+name, 5, time.Minute, Group(group))
	}
	if mode, ok := it.Modes[name]; ok {
		for _, limiter := range r.vector.Limiters {
			if limiter.Name == name {
				limiter.Mode = mode
				chosen = r.createOf(limiter)
			}
		}
	}
	if key, ok := it.Keys[name]; ok {
		return chosen.WithKey(key)
	}
	return chosen, nil
}

func limitsOf(limits []vectorLimit) []Limit {
	converted := make([]Limit, len(limits))
	for i, it := range limits {
		converted[i] = Limit{Kind: Kind(it.Kind), Amount: it.Amount, Interval: durationOf(it.IntervalUs), Offset: durationOf(it.OffsetUs),
			Label: it.Label, Per: it.Per, Timezone: it.Timezone, Starts: it.Starts, Refund: it.Refund}
		if it.Kind == "throttle" {
			converted[i].Amount = max(it.Amount, 1)
		}
	}
	return converted
}

// charge converts the number or the object of a step.
func (r *replay) charge(value any) Charge {
	switch value := value.(type) {
	case json.Number:
		number, err := value.Int64()
		must(r.T, err)
		return Units(number)
	case map[string]any:
		by := ByLimiter{}
		labels := ByLabel{}
		for name, units := range value {
			if limiter, ok := r.each[name]; ok {
				name = limiter.Name()
			}
			by[name] = r.charge(units)
			if units, ok := by[name].(Units); ok {
				labels[name] = int64(units)
			}
		}
		if len(labels) == len(by) {
			return labels
		}
		return by
	default:
		return nil
	}
}

func (r *replay) permit(it *step) string {
	if id, ok := r.permits[it.Permit]; ok {
		return id
	}
	return it.Permit
}

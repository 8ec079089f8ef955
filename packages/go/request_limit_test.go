package paddlegate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// limited serves the handler within the limit, by real HTTP.
func limited(t *testing.T, limit *RequestLimit, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	if handler == nil {
		handler = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }
	}
	server := httptest.NewServer(limit.Handler(handler))
	t.Cleanup(server.Close)
	return server
}

// ask sends a request with these fields, in pairs.
func ask(t *testing.T, server *httptest.Server, fields ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, server.URL, nil)
	must(t, err)
	for i := 0; i+1 < len(fields); i += 2 {
		request.Header.Set(fields[i], fields[i+1])
	}
	response, err := server.Client().Do(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return response, string(body)
}

// codesOf returns those of several requests, one after the other.
func codesOf(t *testing.T, server *httptest.Server, count int, fields ...string) []int {
	t.Helper()
	var list []int
	for range count {
		response, _ := ask(t, server, fields...)
		list = append(list, response.StatusCode)
	}
	return list
}

func same(t *testing.T, what string, got []int, expected ...int) {
	t.Helper()
	if !slices.Equal(got, expected) {
		t.Errorf("%s: %v, not %v", what, got, expected)
	}
}

func hourly(t *testing.T, store *Store, limit int64, options ...LimiterOption) *Limiter {
	t.Helper()
	limiter, err := store.Window(unique(), limit, time.Hour, options...)
	must(t, err)
	return limiter
}

func TestOfRequestsAtOnceExactlyTheLimitPass(t *testing.T) {
	name := unique()
	var servers []*httptest.Server
	for range 2 {
		limiter, err := redis(t).Window(name, 50, time.Hour)
		must(t, err)
		servers = append(servers, limited(t, &RequestLimit{Limiter: limiter}, nil))
	}
	counts := map[int]int{}
	var lock sync.Mutex
	var clients sync.WaitGroup
	for i := range 200 {
		clients.Add(1)
		go func() {
			defer clients.Done()
			response, _ := ask(t, servers[i%2])
			lock.Lock()
			defer lock.Unlock()
			counts[response.StatusCode]++
		}()
	}
	clients.Wait()
	if counts[200] != 50 || counts[429] != 150 {
		t.Errorf("counts=%v", counts)
	}
}

func TestARefusalIsAProblemWithFields(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		server := limited(t, &RequestLimit{Limiter: hourly(t, store, 1)}, nil)
		granted, body := ask(t, server)
		if granted.StatusCode != 200 || body != "ok" || granted.Header.Get("Retry-After") != "" {
			t.Errorf("status=%d body=%q", granted.StatusCode, body)
		}
		refused, body := ask(t, server)
		for _, response := range []*http.Response{granted, refused} {
			if policy := response.Header.Get("RateLimit-Policy"); !strings.HasPrefix(policy, `"window";q=1;w=3600`) {
				t.Errorf("policy=%q", policy)
			}
			if left := response.Header.Get("RateLimit"); !strings.HasPrefix(left, `"window";r=0;t=`) {
				t.Errorf("limit=%q", left)
			}
		}
		var problem struct {
			Status     int
			RetryAfter int `json:"retry_after"`
		}
		must(t, json.Unmarshal([]byte(body), &problem))
		if kind := refused.Header.Get("Content-Type"); refused.StatusCode != 429 || problem.Status != 429 || kind != "application/problem+json" {
			t.Errorf("status=%d type=%q body=%s", refused.StatusCode, kind, body)
		}
		if refused.Header.Get("Retry-After") != fmt.Sprint(problem.RetryAfter) || problem.RetryAfter < 1 {
			t.Errorf("header=%q body=%s", refused.Header.Get("Retry-After"), body)
		}
	})
}

func TestFieldsStatusAndAnswerAreChosen(t *testing.T) {
	store := open(t, "memory://")
	server := limited(t, &RequestLimit{Limiter: hourly(t, store, 1), Fields: "x", Status: 503}, nil)
	granted, _ := ask(t, server)
	refused, _ := ask(t, server)
	if granted.Header.Get("X-RateLimit-Limit") != "1" || refused.StatusCode != 503 {
		t.Errorf("fields=%v status=%d", granted.Header, refused.StatusCode)
	}
	server = limited(t, &RequestLimit{Limiter: hourly(t, store, 1), Fields: "none", OverLimit: func(w http.ResponseWriter, r *http.Request, d *Decision) {
		http.Error(w, r.URL.Path+" "+string(d.Reason), 420)
	}}, nil)
	granted, _ = ask(t, server)
	refused, body := ask(t, server)
	if granted.Header.Get("RateLimit") != "" || refused.StatusCode != 420 || body != "/ window\n" || refused.Header.Get("Retry-After") == "" {
		t.Errorf("fields=%v status=%d body=%q", granted.Header, refused.StatusCode, body)
	}
	server = limited(t, &RequestLimit{Limiter: hourly(t, store, 1), Fields: "all"}, nil)
	same(t, "unknown fields", codesOf(t, server, 1), 500)
}

func TestKeysOfStrangers(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		server := limited(t, &RequestLimit{
			Limiter: hourly(t, store, 2, Keyed()),
			Options: func(r *http.Request) []CallOption { return []CallOption{Key(r.Header.Get("X-Key"))} },
			Skip:    func(r *http.Request) bool { return r.Header.Get("X-Key") == "root" },
		}, nil)
		for _, key := range []string{"ann", "\xff\xfe", strings.Repeat("k", 600), ""} {
			same(t, fmt.Sprintf("%q", key), codesOf(t, server, 3, "X-Key", key), 200, 200, 429)
		}
		same(t, "skipped", codesOf(t, server, 3, "X-Key", "root"), 200, 200, 200)
	})
}

func TestTheKeyIsTheAddressOfTheCaller(t *testing.T) {
	store := open(t, "memory://")
	server := limited(t, &RequestLimit{Limiter: hourly(t, store, 1, Keyed())}, nil)
	same(t, "nobody is trusted", codesOf(t, server, 1, "X-Forwarded-For", "203.0.113.1"), 200)
	same(t, "nobody is trusted", codesOf(t, server, 1, "X-Forwarded-For", "203.0.113.2"), 429)
	server = limited(t, &RequestLimit{Limiter: hourly(t, store, 1, Keyed()), TrustedProxies: []string{"127.0.0.1", "::1"}}, nil)
	for _, address := range []string{"203.0.113.1", "203.0.113.2", "2001:db8::1"} {
		same(t, address, codesOf(t, server, 2, "X-Forwarded-For", address), 200, 429)
	}
	same(t, "of one network", codesOf(t, server, 1, "X-Forwarded-For", "2001:db8::2"), 429)
	server = limited(t, &RequestLimit{Limiter: hourly(t, store, 1, Keyed()), TrustedProxies: []string{"my proxy"}}, nil)
	same(t, "no address", codesOf(t, server, 1), 500)
}

func TestARequestChoosesItsLimiterAndCost(t *testing.T) {
	store := open(t, "memory://")
	plans := map[string]*Limiter{"free": hourly(t, store, 2), "paid": hourly(t, store, 4)}
	server := limited(t, &RequestLimit{
		LimiterOf: func(r *http.Request) *Limiter { return plans[r.Header.Get("X-Plan")] },
		Options:   func(*http.Request) []CallOption { return []CallOption{Cost(2)} },
	}, nil)
	same(t, "free", codesOf(t, server, 2, "X-Plan", "free"), 200, 429)
	same(t, "paid", codesOf(t, server, 3, "X-Plan", "paid"), 200, 200, 429)
	same(t, "none", codesOf(t, server, 3), 200, 200, 200)
}

func TestAResponseThatCostsNothingIsGivenBack(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		limiter := hourly(t, store, 1)
		var status atomic.Int64
		status.Store(502)
		server := limited(t, &RequestLimit{Limiter: limiter, RefundIf: func(status int) bool { return status >= 500 }}, func(w http.ResponseWriter, _ *http.Request) {
			if status.Load() == 500 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(int(status.Load()))
			w.(http.Flusher).Flush()
		})
		same(t, "given back", codesOf(t, server, 3), 502, 502, 502)
		status.Store(500)
		if response, err := server.Client().Get(server.URL); err == nil {
			t.Errorf("status=%d", response.StatusCode)
		}
		status.Store(201)
		same(t, "charged", codesOf(t, server, 2), 201, 429)
	})
}

func TestWhileTheStoreIsAwayTheModeDecides(t *testing.T) {
	away := open(t, "redis://127.0.0.1:1", Timeout(200*time.Millisecond))
	for mode, expected := range map[string][]int{"raise": {503, 503}, "fail_open": {200, 200}, "fail_closed": {429, 429}, "local": {200, 429}} {
		server := limited(t, &RequestLimit{Limiter: hourly(t, away, 1, OnUnavailable(mode))}, nil)
		same(t, mode, codesOf(t, server, 2), expected...)
	}
}

func TestShadowRefusesNobody(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		server := limited(t, &RequestLimit{Limiter: hourly(t, store, 1, Mode("shadow"))}, nil)
		same(t, "shadow", codesOf(t, server, 3), 200, 200, 200)
	})
}

// gated serves a handler that goes on until the gate is closed or the client has gone.
func gated(t *testing.T, limit *RequestLimit) (*httptest.Server, chan struct{}) {
	gate := make(chan struct{})
	server := limited(t, limit, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	})
	return server, gate
}

func begin(t *testing.T, server *httptest.Server) *http.Response {
	t.Helper()
	response, err := server.Client().Get(server.URL)
	must(t, err)
	return response
}

func TestALeaseEndsWithItsResponse(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		limiter, err := store.Concurrent(unique(), 1)
		must(t, err)
		server, gate := gated(t, &RequestLimit{Limiter: limiter})
		response := begin(t, server)
		same(t, "held", codesOf(t, server, 1), 429)
		close(gate)
		_, err = io.ReadAll(response.Body)
		must(t, err)
		must(t, response.Body.Close())
		eventually(t, "the lease is free", func() bool { return leasesOf(t, limiter) == 0 })
		same(t, "free", codesOf(t, server, 1), 200)
	})
}

func leasesOf(t *testing.T, limiter *Limiter) int64 {
	t.Helper()
	statistics, err := limiter.Stats(context.Background())
	must(t, err)
	return statistics.Leases
}

// Its context has ended, with which nothing can be released.
func TestALeaseEndsWhenTheClientHasGone(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		limiter, err := store.Concurrent(unique(), 1)
		must(t, err)
		server, _ := gated(t, &RequestLimit{Limiter: limiter})
		response := begin(t, server)
		if leasesOf(t, limiter) != 1 {
			t.Error("no lease")
		}
		must(t, response.Body.Close())
		eventually(t, "the lease is free", func() bool { return leasesOf(t, limiter) == 0 })
	})
}

func TestALeaseIsRenewedWhileItsHandlerRuns(t *testing.T) {
	store := redis(t)
	limiter, err := store.Concurrent(unique(), 1, LockTimeout(2*time.Second))
	must(t, err)
	server, gate := gated(t, &RequestLimit{Limiter: limiter})
	response := begin(t, server)
	eventually(t, "the lease is renewed", func() bool {
		inspection, err := limiter.Inspect(context.Background(), 0, 1)
		must(t, err)
		lease := inspection.Leases[0]
		return lease.HeldFor+lease.EndsIn > 2100*time.Millisecond
	})
	close(gate)
	must(t, response.Body.Close())
	eventually(t, "the lease is free", func() bool { return leasesOf(t, limiter) == 0 })
}

func TestARequestWaitsForItsTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		limiter, err := store.Concurrent(unique(), 1)
		must(t, err)
		server, gate := gated(t, &RequestLimit{Limiter: limiter, Wait: time.Minute})
		first := begin(t, server)
		second := make(chan int)
		go func() {
			response, _ := ask(t, server)
			second <- response.StatusCode
		}()
		eventually(t, "it waits", func() bool {
			statistics, err := limiter.Stats(context.Background())
			must(t, err)
			return statistics.Tickets == 1
		})
		close(gate)
		must(t, first.Body.Close())
		same(t, "its turn", []int{<-second}, 200)
		eventually(t, "the lease is free", func() bool { return leasesOf(t, limiter) == 0 })
	})
}

package paddlegate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// upstream answers with what the handler writes, and counts requests.
func upstream(t *testing.T, handler http.HandlerFunc) (string, *atomic.Int64) {
	t.Helper()
	var count atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, &count
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	response, err := client.Get(url)
	must(t, err)
	body, err := io.ReadAll(response.Body)
	must(t, err)
	must(t, response.Body.Close())
	return response.StatusCode, string(body)
}

func TestTransportLearnsTheActualCost(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		shop, err := store.Points(unique(), 1000, 20*time.Hour)
		must(t, err)
		const body = `{"extensions":{"cost":{"requestedQueryCost":101,"actualQueryCost":46,"throttleStatus":` +
			`{"maximumAvailable":1000.0,"currentlyAvailable":954,"restoreRate":50.0}}}}`
		url, _ := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			fmt.Fprint(w, body)
		})
		client := &http.Client{Transport: &Transport{Limiter: shop, Provider: "shopify",
			Options: func(*http.Request) []CallOption { return []CallOption{Estimate(101)} }}}
		if status, got := get(t, client, url); status != 200 || got != body {
			t.Errorf("status=%d body=%s", status, got)
		}
		statistics, err := shop.Stats(context.Background())
		must(t, err)
		if statistics.Corrections != 1 || statistics.Units != 46 {
			t.Errorf("statistics=%+v", statistics)
		}
	})
}

func TestTransportSendsA429OnceMore(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		api, err := store.Limiter(unique(), []Limit{Window(100, time.Hour), Concurrency(1)}, WaitTimeout(time.Minute))
		must(t, err)
		var bodies []string
		url, count := upstream(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bodies = append(bodies, string(body)); len(bodies) == 1 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		})
		client := &http.Client{Transport: &Transport{Limiter: api}}
		began := time.Now()
		response, err := client.Post(url, "text/plain", strings.NewReader("order 7"))
		must(t, err)
		if response.StatusCode != 200 || count.Load() != 2 || time.Since(began) < time.Second || bodies[1] != "order 7" {
			t.Errorf("status=%d count=%d took=%s bodies=%q", response.StatusCode, count.Load(), time.Since(began), bodies)
		}
		leases := func() int64 {
			inspection, err := api.Inspect(context.Background(), 0, 0)
			must(t, err)
			return inspection.LeaseCount
		}
		if leases() != 1 {
			t.Errorf("leases=%d before the body is closed", leases())
		}
		must(t, response.Body.Close())
		if leases() != 0 {
			t.Errorf("leases=%d after the body is closed", leases())
		}
	})
}

func TestTransportReturnsA429ThatIsTooFar(t *testing.T) {
	store := open(t, "memory://")
	api, err := store.Window(unique(), 100, time.Hour, WaitTimeout(time.Minute))
	must(t, err)
	url, count := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, "slow down")
	})
	client := &http.Client{Transport: &Transport{Limiter: api}}
	if status, body := get(t, client, url); status != 429 || body != "slow down" || count.Load() != 1 {
		t.Errorf("status=%d body=%q count=%d", status, body, count.Load())
	}
	// The next request does not reach the server.
	var over *OverLimitError
	if _, err := client.Get(url); !errors.As(err, &over) || over.Reason != ReasonPaused || count.Load() != 1 {
		t.Errorf("error=%v count=%d", err, count.Load())
	}
}

func TestTransportReturnsA429WithoutATime(t *testing.T) {
	store := open(t, "memory://")
	api, err := store.Window(unique(), 100, time.Hour)
	must(t, err)
	url, count := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	client := &http.Client{Transport: &Transport{Limiter: api}}
	if status, _ := get(t, client, url); status != 429 || count.Load() != 1 {
		t.Errorf("status=%d count=%d", status, count.Load())
	}
}

func TestTransportKeepsLongBodies(t *testing.T) {
	store := open(t, "memory://")
	api, err := store.Window(unique(), 100, time.Hour)
	must(t, err)
	long := strings.Repeat("[1]", 100)
	url, _ := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 10 {
			fmt.Fprint(w, long)
			w.(http.Flusher).Flush()
		}
	})
	for _, most := range []int64{-1, 0, 1, 3000, 3001} {
		client := &http.Client{Transport: &Transport{Limiter: api, MaxBody: most}}
		if _, body := get(t, client, url); body != strings.Repeat(long, 10) {
			t.Errorf("most=%d length=%d", most, len(body))
		}
	}
}

func TestTransportEndsWithTheContext(t *testing.T) {
	store := open(t, "memory://")
	api, err := store.Concurrent(unique(), 1, WaitTimeout(Forever), LockTimeout(time.Hour))
	must(t, err)
	url, count := upstream(t, func(http.ResponseWriter, *http.Request) {})
	_, err = api.Acquire(context.Background())
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	must(t, err)
	failed := make(chan error)
	go func() {
		_, err := (&http.Client{Transport: &Transport{Limiter: api}}).Do(request)
		failed <- err
	}()
	tickets(t, api, 1)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || count.Load() != 0 {
		t.Errorf("error=%v count=%d", err, count.Load())
	}
}

func TestHandlerAnswers429(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		perUser, err := store.Window(unique(), 2, time.Hour, Keyed())
		must(t, err)
		hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
		handler := Handler(hello, perUser, func(r *http.Request) []CallOption {
			return []CallOption{Key(r.Header.Get("X-Api-Key"))}
		})
		ask := func(key string) *httptest.ResponseRecorder {
			request := httptest.NewRequest("GET", "/", nil)
			request.Header.Set("X-Api-Key", key)
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			return recorder
		}
		for number, status := range []int{200, 200, 429} {
			if got := ask("ann"); got.Code != status {
				t.Errorf("request %d: status=%d", number, got.Code)
			}
		}
		seconds, err := strconv.Atoi(ask("ann").Header().Get("Retry-After"))
		if err != nil || seconds < 1 || seconds > 3600 {
			t.Errorf("retry_after=%d error=%v", seconds, err)
		}
		if got := ask("bob"); got.Code != 200 || got.Body.String() != "hello" {
			t.Errorf("another key: status=%d", got.Code)
		}
		if got := ask(""); got.Code != 200 {
			t.Errorf("no key is a key of its own: status=%d", got.Code)
		}
	})
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	clock, err := NewTestClock(time.UnixMicro(1_700_000_000_000_000))
	must(t, err)
	store := open(t, "memory://", Clock(clock))
	window, err := store.Window("api", 1, time.Hour)
	must(t, err)
	_, err = window.TryAcquire(context.Background())
	must(t, err)
	must(t, clock.Advance(time.Microsecond))
	// A pause by the policy has no end, and so no time.
	paused, err := store.Paused("paused")
	must(t, err)
	for expected, limiter := range map[string]*Limiter{"3600": window, "": paused} {
		recorder := httptest.NewRecorder()
		Handler(http.NotFoundHandler(), limiter, nil).ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
		if got := recorder.Header().Get("Retry-After"); got != expected {
			t.Errorf("expected %q, got %q", expected, got)
		}
	}
}

func TestHandlerReleasesItsLease(t *testing.T) {
	store := open(t, "memory://")
	slots, err := store.Concurrent(unique(), 1, Keyed())
	must(t, err)
	options := func(*http.Request) []CallOption { return []CallOption{Key("ann")} }
	var nested int
	var handler http.Handler
	handler = Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/outer" {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequest("GET", "/inner", nil))
			nested = recorder.Code
		}
	}), slots, options)
	for range 2 {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest("GET", "/outer", nil))
		if recorder.Code != 200 || nested != 429 {
			t.Errorf("status=%d nested=%d", recorder.Code, nested)
		}
	}
}

func TestHandlerWithoutAStore(t *testing.T) {
	window, err := open(t, silent(t), Timeout(50*time.Millisecond)).Window("api", 1, time.Minute)
	must(t, err)
	recorder := httptest.NewRecorder()
	Handler(http.NotFoundHandler(), window, nil).ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
	if recorder.Code != 503 {
		t.Errorf("status=%d", recorder.Code)
	}
}

func TestATransportClosesTheIdleConnectionsOfItsBase(t *testing.T) {
	base := &closing{}
	(&http.Client{Transport: &Transport{Base: base}}).CloseIdleConnections()
	if base.closed != 1 {
		t.Errorf("closed=%d", base.closed)
	}
}

type closing struct {
	http.Transport
	closed int
}

func (c *closing) CloseIdleConnections() { c.closed++ }

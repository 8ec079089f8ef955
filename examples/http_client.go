// Three clients of an API share its limit, five calls a second, and no call fails.
//
// Guide: docs/src/guides/http-429.md
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"paddlegate"
)

func main() {
	server := httptest.NewServer(&api{})
	defer server.Close()
	store, err := paddlegate.Open("") // PADDLEGATE_URL, or memory
	check(err)
	defer store.Close()
	// A little longer than the second of the API, since requests take different times to it.
	limiter, err := store.Window("api", 5, 1050*time.Millisecond)
	check(err)
	check(limiter.Reset(context.Background()))

	var clients sync.WaitGroup
	for range 3 {
		client := &http.Client{Transport: &paddlegate.Transport{Limiter: limiter}}
		clients.Add(1)
		go func() {
			defer clients.Done()
			for range 5 {
				request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
				check(err)
				response, err := client.Do(request)
				check(err)
				check(response.Body.Close())
				if response.StatusCode != http.StatusOK {
					log.Fatal(response.Status)
				}
			}
		}()
	}
	clients.Wait()
	statistics, err := limiter.Stats(context.Background())
	check(err)
	fmt.Println(statistics.Granted >= 15, statistics.Waited > 0)
}

// api answers five requests in any second, and the others with 429.
type api struct {
	lock sync.Mutex
	at   []time.Time
}

func (a *api) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.lock.Lock()
	defer a.lock.Unlock()
	now := time.Now()
	for len(a.at) > 0 && now.Sub(a.at[0]) >= time.Second {
		a.at = a.at[1:]
	}
	if len(a.at) >= 5 {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	a.at = append(a.at, now)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

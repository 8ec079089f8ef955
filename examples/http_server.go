// A server of which each client gets three answers a minute, and two downloads go on at once.
//
// Guide: docs/src/guides/go-servers.md
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"paddlegate"
)

func main() {
	store, err := paddlegate.Open("") // PADDLEGATE_URL, or memory
	check(err)
	defer store.Close()
	perClient, err := store.Window("answers", 3, time.Minute, paddlegate.Keyed())
	check(err)
	downloads, err := store.Concurrent("downloads", 2)
	check(err)

	gate := make(chan struct{})
	routes := http.NewServeMux()
	routes.Handle("/hello", (&paddlegate.RequestLimit{
		Limiter: perClient,
		Options: func(r *http.Request) []paddlegate.CallOption {
			return []paddlegate.CallOption{paddlegate.Key(r.Header.Get("X-Client"))}
		},
	}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })))
	// A lease is renewed until its handler returns.
	limit := &paddlegate.RequestLimit{Limiter: downloads, Status: http.StatusServiceUnavailable}
	routes.Handle("/download", limit.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "the first part, ")
		select {
		case <-gate:
			fmt.Fprint(w, "and the rest")
		case <-r.Context().Done(): // the client has gone
		}
	})))
	server := httptest.NewServer(routes)
	defer server.Close()

	for range 4 {
		status, _ := get(server.URL+"/hello", "ann")
		fmt.Println(status) // three times 200, then 429
	}
	status, _ := get(server.URL+"/hello", "ben")
	fmt.Println("ben", status) // -> ben 200

	bodies := make(chan string)
	for range 2 {
		go func() {
			_, body := get(server.URL+"/download", "")
			bodies <- body
		}()
	}
	for leases(downloads) < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	status, _ = get(server.URL+"/download", "")
	fmt.Println("a third", status) // -> a third 503
	close(gate)
	fmt.Println(<-bodies) // -> the first part, and the rest
	fmt.Println(<-bodies == "the first part, and the rest")
}

func get(url, client string) (int, string) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	check(err)
	request.Header.Set("X-Client", client)
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(err)
	return response.StatusCode, string(body)
}

func leases(limiter *paddlegate.Limiter) int64 {
	statistics, err := limiter.Stats(context.Background())
	check(err)
	return statistics.Leases
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package paddlegate_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"paddlegate"
)

func Example() {
	store, err := paddlegate.Open("memory://")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	api, err := store.Window("stripe", 2, time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		allowed, err := api.Allow(context.Background())
		fmt.Println(allowed, err)
	}
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

func ExampleLimiter_WithinLimit() {
	store, _ := paddlegate.Open("memory://")
	defer store.Close()
	shop, _ := store.Points("shopify-42", 1000, 20*time.Hour)
	err := shop.WithinLimit(context.Background(), func(permit *paddlegate.Permit) error {
		_, err := permit.PointsUsed(context.Background(), 50) // 150 points are returned
		return err
	}, paddlegate.Estimate(200))
	left, _ := shop.Peek(context.Background(), paddlegate.Cost(0))
	fmt.Println(left.Remaining, err)
	// Output: 950 <nil>
}

func ExampleLimiter_Acquire() {
	store, _ := paddlegate.Open("memory://")
	defer store.Close()
	daily, _ := store.Bucket("mail", 1, 24*time.Hour)
	_, _ = daily.Acquire(context.Background())

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := daily.Acquire(ctx)
	var over *paddlegate.OverLimitError
	fmt.Println(errors.As(err, &over), errors.Is(err, context.DeadlineExceeded))
	// Output: true true
}

func ExampleStore_Limiter() {
	store, _ := paddlegate.Open("memory://")
	defer store.Close()
	model, _ := store.Limiter("llm", []paddlegate.Limit{
		paddlegate.Window(500, time.Hour).Labeled("rph"),
		paddlegate.Points(150_000, time.Hour).Labeled("tph"),
		paddlegate.Concurrency(20),
	})
	decision, _ := model.TryAcquire(context.Background(), paddlegate.EstimateBy(paddlegate.ByLabel{"tph": 2000}), paddlegate.EachLimit())
	for _, limit := range decision.Limits {
		fmt.Println(limit.Label, limit.Remaining)
	}
	// Output:
	// rph 499
	// tph 148000
	// concurrency 19
}

func ExampleHandler() {
	store, _ := paddlegate.Open("memory://")
	defer store.Close()
	perUser, _ := store.Window("api", 1, time.Hour, paddlegate.Keyed())
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	handler := paddlegate.Handler(hello, perUser, func(r *http.Request) []paddlegate.CallOption {
		return []paddlegate.CallOption{paddlegate.Key(r.Header.Get("X-Api-Key"))}
	})
	for range 2 {
		request := httptest.NewRequest("GET", "/", nil)
		request.Header.Set("X-Api-Key", "ann")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		fmt.Println(answer.Code)
	}
	// Output:
	// 200
	// 429
}

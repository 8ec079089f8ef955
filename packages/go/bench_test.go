package paddlegate

import (
	"context"
	"os"
	"testing"
	"time"
)

// BenchmarkCalls measures what a call takes: go test -bench . with PADDLEGATE_TEST_URL.
func BenchmarkCalls(b *testing.B) {
	for name, url := range map[string]string{"memory": "memory://", "redis": os.Getenv("PADDLEGATE_TEST_URL")} {
		if url == "" {
			continue
		}
		store, err := Open(url, Timeout(10*time.Second))
		if err != nil {
			b.Fatal(err)
		}
		limiter, err := store.Leaky(unique(), 1_000_000_000, time.Second)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/allow", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if allowed, err := limiter.Allow(context.Background()); err != nil || !allowed {
					b.Fatal(allowed, err)
				}
			}
		})
		b.Run(name+"/acquire", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := limiter.Acquire(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

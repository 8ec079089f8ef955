// The share of Go: `go redis` and `go memory`, started from the root of the work tree.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	ulule "github.com/ulule/limiter/v3/drivers/store/memory"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
	"paddlegate"
)

const (
	// Nothing is refused: a refusal is less work.
	huge = 1_000_000_000
	many = 64
)

var background = context.Background()

func main() {
	switch os.Args[1] {
	case "redis":
		withRedis(os.Getenv("PADDLEGATE_URL"))
	case "memory":
		inMemory()
	}
}

func withRedis(url string) {
	options, err := redis.ParseURL(url)
	must(err)
	// A busy machine may stop for a while; that is no failure here.
	options.ReadTimeout, options.WriteTimeout = 20*time.Second, 20*time.Second
	client := redis.NewClient(options)
	defer client.Close()
	pg, err := paddlegate.Open(url, paddlegate.Timeout(20*time.Second))
	must(err)
	defer pg.Close()
	limiter, err := pg.Leaky("go", huge, time.Second)
	must(err)
	ours := func() { granted(limiter.TryAcquire(context.Background())) }

	gcra, err := os.ReadFile("bench/gcra.lua")
	must(err)
	script := redis.NewScript(string(gcra))
	byScript := func() { must(script.Run(background, client, []string{"gcra"}, 1, int64(1e12)).Err()) }
	rate := redis_rate.NewLimiter(client)
	perSecond := redis_rate.Limit{Rate: huge, Burst: huge, Period: time.Second}
	store, err := ululeredis.NewStore(client)
	must(err)
	throttle, err := goredisstore.NewCtx(client, "throttled:")
	must(err)

	compare("go", "one", "us", repeated(byScript), repeated(ours))
	compare("go", "many", "k/s", atOnce(byScript), atOnce(ours))
	compare("go", "redis_rate", "us", repeated(func() {
		result, err := rate.Allow(background, "go", perSecond)
		must(err)
		check(result.Allowed == 1)
	}), repeated(ours))
	compare("go", "ulule", "us", repeated(ululeLimiter(store)), repeated(ours))
	compare("go", "throttled", "us", repeated(throttler(throttle)), repeated(ours))
}

func inMemory() {
	pg, err := paddlegate.Open("memory://")
	must(err)
	defer pg.Close()
	limiter, err := pg.Leaky("go", huge, time.Second)
	must(err)
	ours := repeated(func() {
		allowed, err := limiter.Allow(context.Background())
		must(err)
		check(allowed)
	})
	store, err := memstore.NewCtx(0)
	must(err)
	compare("go memory", "ulule", "ns", repeated(ululeLimiter(ulule.NewStore())), ours)
	compare("go memory", "throttled", "ns", repeated(throttler(store)), ours)
}

func ululeLimiter(store limiter.Store) func() {
	counted := limiter.New(store, limiter.Rate{Period: time.Hour, Limit: huge})
	return func() {
		state, err := counted.Get(background, "go")
		must(err)
		check(!state.Reached)
	}
}

func throttler(store throttled.GCRAStoreCtx) func() {
	quota := throttled.RateQuota{MaxRate: throttled.PerSec(huge), MaxBurst: huge}
	meter, err := throttled.NewGCRARateLimiterCtx(store, quota)
	must(err)
	return func() {
		refused, _, err := meter.RateLimitCtx(background, "go", 1)
		must(err)
		check(!refused)
	}
}

func granted(decision *paddlegate.Decision, err error) {
	must(err)
	check(decision.Allowed())
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(isTrue bool) {
	if !isTrue {
		must(fmt.Errorf("refused"))
	}
}

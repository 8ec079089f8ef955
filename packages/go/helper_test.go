package paddlegate

import (
	"os"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testURL returns the Redis to test on. A test without one fails.
func testURL(t *testing.T) string {
	t.Helper()
	url := os.Getenv("PADDLEGATE_TEST_URL")
	if url == "" {
		t.Fatal("PADDLEGATE_TEST_URL names no Redis to test on")
	}
	return url
}

// open opens a store that is closed with the test.
func open(t *testing.T, url string, options ...StoreOption) *Store {
	t.Helper()
	store, err := Open(url, options...)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

// redis opens a store on a machine that may stall.
func redis(t *testing.T) *Store {
	t.Helper()
	return open(t, testURL(t), Timeout(10*time.Second))
}

// unique returns a name that no other test and no other run has.
func unique() string { return "go-" + newID() }

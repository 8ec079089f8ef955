package paddlegate

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
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

func headersOf(pairs [][2]string) http.Header {
	header := http.Header{}
	for _, pair := range pairs {
		header[pair[0]] = append(header[pair[0]], pair[1])
	}
	return header
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	must(t, decoder.Decode(into))
}

// plain gives an answer as JSON has it.
func plain(t *testing.T, answer any) any {
	t.Helper()
	text, err := json.Marshal(answer)
	must(t, err)
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var read any
	must(t, decoder.Decode(&read))
	return read
}

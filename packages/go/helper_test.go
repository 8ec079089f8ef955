package paddlegate

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
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

// held returns the address of the Redis to test on behind a proxy whose replies wait for a lock.
func held(t *testing.T) (string, *sync.Mutex) {
	t.Helper()
	address, err := url.Parse(testURL(t))
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, listener.Close()) })
	replies, server := new(sync.Mutex), address.Host
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				return
			}
			go func() {
				defer upstream.Close()
				_, _ = io.Copy(upstream, client)
			}()
			go func() {
				defer client.Close()
				buffer := make([]byte, 1<<16)
				for {
					length, err := upstream.Read(buffer)
					if err != nil {
						return
					}
					replies.Lock()
					_, err = client.Write(buffer[:length])
					replies.Unlock()
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	address.Host = listener.Addr().String()
	return address.String(), replies
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

package servers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"paddlegate"
)

var servers = map[string]func(*paddlegate.RequestLimit, http.HandlerFunc) http.Handler{"chi": onChi, "echo": onEcho, "gin": onGin}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func onEach(t *testing.T, test func(*testing.T, *paddlegate.Store, func(*paddlegate.RequestLimit, http.HandlerFunc) *httptest.Server)) {
	gin.SetMode(gin.ReleaseMode)
	for name, serve := range servers {
		for _, url := range []string{"memory://", os.Getenv("PADDLEGATE_TEST_URL")} {
			t.Run(name, func(t *testing.T) {
				store, err := paddlegate.Open(url, paddlegate.Timeout(10*time.Second))
				must(t, err)
				defer store.Close()
				test(t, store, func(limit *paddlegate.RequestLimit, handler http.HandlerFunc) *httptest.Server {
					server := httptest.NewServer(serve(limit, handler))
					t.Cleanup(server.Close)
					return server
				})
			})
		}
	}
}

func get(t *testing.T, server *httptest.Server, key string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, server.URL+"/posts", nil)
	must(t, err)
	request.Header.Set("X-Key", key)
	response, err := server.Client().Do(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return response, string(body)
}

func TestARefusalIsAProblemAndRunsNoHandler(t *testing.T) {
	onEach(t, func(t *testing.T, store *paddlegate.Store, serve func(*paddlegate.RequestLimit, http.HandlerFunc) *httptest.Server) {
		limiter, err := store.Window(fmt.Sprint(t.Name(), time.Now().UnixNano()), 2, time.Hour, paddlegate.Keyed())
		must(t, err)
		runs := 0
		server := serve(&paddlegate.RequestLimit{
			Limiter: limiter,
			Options: func(r *http.Request) []paddlegate.CallOption {
				return []paddlegate.CallOption{paddlegate.Key(r.Header.Get("X-Key"))}
			},
		}, func(w http.ResponseWriter, _ *http.Request) {
			runs++
			fmt.Fprint(w, "ok")
		})
		for i, expected := range []int{200, 200, 429} {
			response, body := get(t, server, "\xff")
			if response.StatusCode != expected || response.Header.Get("RateLimit") == "" || (body == "ok") != (expected == 200) {
				t.Errorf("request %d: status=%d fields=%v body=%q", i, response.StatusCode, response.Header, body)
			}
			if expected == 429 && (response.Header.Get("Retry-After") == "" || response.Header.Get("Content-Type") != "application/problem+json") {
				t.Errorf("fields=%v", response.Header)
			}
		}
		if response, _ := get(t, server, "ben"); response.StatusCode != 200 || runs != 3 {
			t.Errorf("status=%d runs=%d", response.StatusCode, runs)
		}
	})
}

func TestALeaseLastsAsLongAsItsHandler(t *testing.T) {
	onEach(t, func(t *testing.T, store *paddlegate.Store, serve func(*paddlegate.RequestLimit, http.HandlerFunc) *httptest.Server) {
		limiter, err := store.Concurrent(fmt.Sprint(t.Name(), time.Now().UnixNano()), 1)
		must(t, err)
		server := serve(&paddlegate.RequestLimit{Limiter: limiter}, func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		response, err := server.Client().Get(server.URL + "/posts")
		must(t, err)
		if refused, _ := get(t, server, ""); refused.StatusCode != 429 {
			t.Errorf("status=%d", refused.StatusCode)
		}
		must(t, response.Body.Close())
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			statistics, err := limiter.Stats(context.Background())
			must(t, err)
			if statistics.Leases == 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("the lease is not free")
			}
		}
	})
}

// What the page shows is what is tested here.
func TestThePageHasTheseLines(t *testing.T) {
	page, err := os.ReadFile("../../docs/src/guides/go-servers.md")
	must(t, err)
	program, err := os.ReadFile("servers.go")
	must(t, err)
	shown := regexp.MustCompile("(?s)```text\n(.*?)```").FindAllSubmatch(page, -1)
	if len(shown) != 2 {
		t.Fatalf("blocks=%d", len(shown))
	}
	if !bytes.Contains(program, shown[1][1]) {
		t.Error("the function for gin is another one")
	}
	for _, line := range bytes.Split(bytes.TrimSpace(shown[0][1]), []byte("\n")) {
		route := bytes.ReplaceAll(line, []byte(`"/posts", posts)`), []byte(`"/posts", handler)`))
		if !bytes.Contains(program, line) && !bytes.Contains(program, route) {
			t.Errorf("the program lacks %s", line)
		}
	}
}

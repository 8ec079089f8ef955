//go:build cgo

package paddlegate

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// defaultBody is how much of a response is read for what it says about limits.
const defaultBody = 1 << 20

// urgent is the priority of a request that is sent again, so that it keeps its place.
const urgent = 9

// Transport is an [http.RoundTripper] that keeps requests within a limiter: it acquires, sends, and
// learns from the response. All goroutines may use it.
//
// A response with the status 429 that says when to come back pauses the limiter in all processes. Its
// request is sent once more after the pause, before others that wait, if its body can be had again
// ([http.Request.GetBody]) and the wait is not too long; otherwise the caller gets the response. A
// lease is released when the body of the response is closed.
type Transport struct {
	// Limiter is the limiter. One of several that decide together does not learn.
	Limiter *Limiter
	// Base sends the requests; nil for [http.DefaultTransport].
	Base http.RoundTripper
	// Options has the options of the call for a request, such as its [Key] or [Estimate]; nil for none.
	Options func(*http.Request) []CallOption
	// Provider is as in [Response].
	Provider string
	// MaxBody is how many bytes of a JSON response are read before it is returned, to learn from it; 0
	// for 1 MiB, negative for none. A response that is not JSON is never read.
	MaxBody int64
}

// RoundTrip sends a request within the limiter. The error is that of [Limiter.Acquire] or of Base.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	var options []CallOption
	if t.Options != nil {
		options = t.Options(request)
	}
	permit, err := t.Limiter.Acquire(request.Context(), options...)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	response, learned, err := t.send(permit, request)
	if err != nil || response.StatusCode != http.StatusTooManyRequests || learned == nil || learned.Pause == Unknown {
		return response, err
	}
	again := request.Clone(request.Context())
	if request.Body != nil && request.Body != http.NoBody {
		if request.GetBody == nil {
			return response, nil
		}
		if again.Body, err = request.GetBody(); err != nil {
			return response, nil
		}
	}
	// The first lease would hold up the second.
	_, _ = permit.Release(request.Context())
	permit, err = t.Limiter.Acquire(request.Context(), slices.Concat(options, []CallOption{Priority(urgent)})...)
	if err != nil {
		if again.Body != nil {
			_ = again.Body.Close()
		}
		return response, nil
	}
	// A body that was read to its end leaves the connection usable.
	_, _ = io.CopyN(io.Discard, response.Body, defaultBody)
	_ = response.Body.Close()
	response, _, err = t.send(permit, again)
	return response, err
}

// CloseIdleConnections closes those of Base, for [http.Client.CloseIdleConnections].
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// send sends a request that has a permit.
func (t *Transport) send(permit *Permit, request *http.Request) (*http.Response, *Learned, error) {
	ctx := request.Context()
	response, err := t.base().RoundTrip(request)
	if err != nil {
		_, _ = permit.Release(ctx)
		return nil, nil, err
	}
	// What cannot be learned from this response is learned from the next one.
	learned, _ := permit.LearnFromResponse(ctx, Response{
		StatusCode: response.StatusCode, Header: response.Header, Body: t.read(response), Provider: t.Provider,
	})
	switch {
	case permit.ExpiresIn() == Unknown:
	case response.StatusCode == http.StatusSwitchingProtocols:
		// Its body is a connection, which must stay one.
		_, _ = permit.Release(ctx)
	default:
		response.Body = &heldBody{response.Body, permit, ctx}
	}
	return response, learned, nil
}

// read reads the beginning of a JSON response, and puts it back.
func (t *Transport) read(response *http.Response) []byte {
	most := t.MaxBody
	if most == 0 {
		most = defaultBody
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	isJSON := err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
	if most < 0 || !isJSON || response.ContentLength > most || response.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	read, err := io.ReadAll(io.LimitReader(response.Body, most))
	var rest io.Reader = response.Body
	if err != nil {
		// The caller gets the error where it was.
		rest = failing{err}
	}
	response.Body = readCloser{io.MultiReader(bytes.NewReader(read), rest), response.Body}
	if int64(len(read)) == most && response.ContentLength != most {
		// It may be cut.
		return nil
	}
	return read
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type readCloser struct {
	io.Reader
	io.Closer
}

// heldBody releases a lease when it is closed.
type heldBody struct {
	io.ReadCloser
	permit *Permit
	// That of the request, whose end does not keep the lease.
	ctx context.Context
}

func (b *heldBody) Close() error {
	// A lease that cannot be released ends after its LockTimeout.
	_, _ = b.permit.Release(b.ctx)
	return b.ReadCloser.Close()
}

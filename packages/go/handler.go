//go:build cgo

package paddlegate

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// shortestRenewal is the time between two renewals of a lease at least.
const shortestRenewal = 100 * time.Millisecond

// Handler returns a handler that keeps requests within a limiter, without waiting: a [RequestLimit] with
// these options of the call for a request, such as its [Key]; nil for none.
func Handler(next http.Handler, limiter *Limiter, options func(*http.Request) []CallOption) http.Handler {
	return (&RequestLimit{Limiter: limiter, Options: options}).Handler(next)
}

// RequestLimit keeps the requests to a server within a limiter. [RequestLimit.Handler] is a middleware.
//
// A request over the limit is answered with 429, one for which the store could not decide with 503,
// unless [OnUnavailable] says otherwise. A lease is renewed, and released when the handler has returned.
type RequestLimit struct {
	Limiter *Limiter
	// LimiterOf chooses the limiter of a request in place of Limiter; nil: the request is not limited.
	LimiterOf func(*http.Request) *Limiter
	// Options has the options of the call, such as its [Key] and [Cost]. The key is the address of the
	// caller when the limiter is [Keyed] and there is none. Any text will do: one that is no key is digested.
	Options func(*http.Request) []CallOption
	// Wait is how long a request may wait for its turn; 0, the default: it is refused.
	Wait time.Duration
	// Fields names the header fields of the answer: "draft", the default, "draft-6", "x", or "none" for
	// Retry-After alone.
	Fields HeaderFields
	// Status is the status of a refusal, by default 429.
	Status int
	// OverLimit writes the answer of a refusal, whose fields are set; by default problem details in JSON.
	OverLimit func(http.ResponseWriter, *http.Request, *Decision)
	// Skip tells whether a request is not limited.
	Skip func(*http.Request) bool
	// RefundIf tells whether a response of a status costs nothing. The cost is then an [Estimate].
	RefundIf func(status int) bool
	// TrustedProxies are the addresses or networks of the proxies whose X-Forwarded-For is believed.
	TrustedProxies []string
}

// Handler returns a handler that keeps the requests to another within the limit.
func (l *RequestLimit) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limiter := l.Limiter
		if l.LimiterOf != nil {
			limiter = l.LimiterOf(r)
		}
		if limiter == nil || l.Skip != nil && l.Skip(r) {
			next.ServeHTTP(w, r)
			return
		}
		permit, err := l.acquire(limiter, r)
		if err != nil {
			l.refuse(w, r, err)
			return
		}
		defer holding(r.Context(), permit)()
		if err := l.addFields(w, permit.Decision()); err != nil {
			l.refuse(w, r, err)
		} else if l.RefundIf == nil {
			next.ServeHTTP(w, r)
		} else {
			l.refunding(next, w, r, permit)
		}
	})
}

func (l *RequestLimit) acquire(limiter *Limiter, r *http.Request) (*Permit, error) {
	var given []CallOption
	if l.Options != nil {
		given = l.Options(r)
	}
	o := callOptionsOf(given)
	options := append(given[:len(given):len(given)], EachLimit(), WaitTimeout(l.Wait))
	if o.key != nil {
		options = append(options, Key(PlainKey(*o.key)))
	} else if limiter.IsKeyed() && limiter.Key() == "" {
		key, err := CallerKey(r.RemoteAddr, ForwardedFor(strings.Join(r.Header.Values("X-Forwarded-For"), ",")), TrustedProxies(l.TrustedProxies...))
		if err != nil {
			return nil, err
		}
		options = append(options, Key(key))
	}
	if l.RefundIf != nil && o.estimate == nil {
		// Without a permit that can be corrected nothing can be given back.
		cost := o.cost
		if cost == nil {
			cost = Units(1)
		}
		options = append(options, CostBy(nil), EstimateBy(cost))
	}
	return limiter.Acquire(r.Context(), options...)
}

func (l *RequestLimit) addFields(w http.ResponseWriter, decision *Decision) error {
	fields := l.Fields
	if fields == "" || fields == "none" {
		fields = FieldsDraft
	}
	headers, err := decision.Headers(fields)
	for name, value := range headers {
		if l.Fields != "none" || name == "Retry-After" {
			w.Header().Set(name, value)
		}
	}
	return err
}

// holding renews the lease of a permit, if it has one, until the function that it returns releases it: also
// when the client has gone, which ends the context.
func holding(ctx context.Context, permit *Permit) func() {
	if permit.ExpiresIn() == Unknown {
		return func() {}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		// When half of its time is over, and after a failure when half of what is left is over.
		for left := permit.ExpiresIn(); left > 0; left = permit.ExpiresIn() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(left/2, shortestRenewal)):
			}
			if renewed, err := permit.Renew(ctx); err == nil && !renewed {
				return
			}
		}
	}()
	return func() {
		stop()
		// A lease that cannot be released ends after its LockTimeout.
		_, _ = permit.Release(ctx)
	}
}

// refunding gives the cost back after a response of a status that costs nothing. A panic counts as 500.
func (l *RequestLimit) refunding(next http.Handler, w http.ResponseWriter, r *http.Request, permit *Permit) {
	answer := &statusWriter{ResponseWriter: w}
	status := http.StatusInternalServerError
	defer func() {
		if l.RefundIf(status) {
			// What cannot be given back stays charged.
			_, _ = permit.Correct(context.WithoutCancel(r.Context()), Units(0))
		}
	}()
	next.ServeHTTP(answer, r)
	if status = answer.status; status == 0 {
		status = http.StatusOK
	}
}

// statusWriter keeps the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Flush and Unwrap are for handlers that stream.
func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refuse answers a request that has no permit.
func (l *RequestLimit) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var over *OverLimitError
	if errors.As(err, &over) {
		if err = l.addFields(w, over.Decision); err == nil {
			l.overLimit(w, r, over.Decision)
			return
		}
	}
	var unavailable *UnavailableError
	if errors.As(err, &unavailable) || r.Context().Err() != nil {
		problem(w, http.StatusServiceUnavailable, map[string]any{"title": http.StatusText(http.StatusServiceUnavailable)})
		return
	}
	slog.Error("paddlegate: a request could not be limited", "error", err)
	http.Error(w, "internal error", http.StatusInternalServerError)
}

func (l *RequestLimit) overLimit(w http.ResponseWriter, r *http.Request, decision *Decision) {
	if l.OverLimit != nil {
		l.OverLimit(w, r, decision)
		return
	}
	details := map[string]any{
		"type":  "https://iana.org/assignments/http-problem-types#quota-exceeded",
		"title": "Request cannot be satisfied as assigned quota has been exceeded",
	}
	if seconds, err := strconv.Atoi(w.Header().Get("Retry-After")); err == nil {
		details["retry_after"] = seconds
	}
	status := l.Status
	if status == 0 {
		status = http.StatusTooManyRequests
	}
	problem(w, status, details)
}

// problem writes problem details of RFC 9457.
func problem(w http.ResponseWriter, status int, details map[string]any) {
	details["status"] = status
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(details)
}

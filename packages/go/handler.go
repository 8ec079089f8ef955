//go:build cgo

package paddlegate

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// unknownRetry is the Retry-After of a refusal for which no time is known.
const unknownRetry = time.Minute

// Handler returns a handler that keeps requests within a limiter, without waiting. A request over the
// limit is answered with 429 and Retry-After, in whole seconds rounded up. A lease is released when
// next has returned.
//
// options has the options of the call for a request, such as its [Key]; nil for none. While the store
// cannot decide the answer is 503, unless [OnUnavailable] says otherwise.
func Handler(next http.Handler, limiter *Limiter, options func(*http.Request) []CallOption) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var given []CallOption
		if options != nil {
			given = options(r)
		}
		sentAt := time.Now()
		decision, err := limiter.TryAcquire(r.Context(), given...)
		if err != nil {
			refuse(w, err)
			return
		}
		if !decision.Allowed() {
			retry := decision.RetryAfter
			if retry == Unknown {
				retry = unknownRetry
			}
			w.Header().Set("Retry-After", strconv.FormatInt(int64((retry+time.Second-1)/time.Second), 10))
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		if decision.Lease != Unknown {
			holder, err := limiter.holderOf(given)
			if err != nil {
				refuse(w, err)
				return
			}
			// A lease that cannot be released ends after its LockTimeout.
			defer func() { _, _ = newPermit(holder, decision, sentAt, false).Release(r.Context()) }()
		}
		next.ServeHTTP(w, r)
	})
}

// holderOf returns the limiter that a lease is of.
func (l *Limiter) holderOf(options []CallOption) (*Limiter, error) {
	o := callOptionsOf(options)
	if o.key == nil {
		return l, nil
	}
	return l.WithKey(*o.key)
}

func refuse(w http.ResponseWriter, err error) {
	var unavailable *UnavailableError
	if errors.As(err, &unavailable) {
		http.Error(w, "unavailable", http.StatusServiceUnavailable)
		return
	}
	slog.Error("paddlegate: a request could not be limited", "error", err)
	http.Error(w, "internal error", http.StatusInternalServerError)
}

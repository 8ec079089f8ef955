package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// HeaderFields says which fields of a response tell its caller what a [Decision] left.
type HeaderFields = string

const (
	// FieldsDraft is RateLimit-Policy and RateLimit of the newest draft of the IETF.
	FieldsDraft HeaderFields = "draft"
	// FieldsDraft6 is RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset and RateLimit-Policy of
	// the sixth draft.
	FieldsDraft6 HeaderFields = "draft-6"
	// FieldsX is X-RateLimit-Limit, X-RateLimit-Remaining, and X-RateLimit-Reset in seconds since 1970.
	FieldsX HeaderFields = "x"
)

// The room for a key, for the fields of one limiter, and for those of limiters that decide together.
const (
	keyRoom     = 520
	fieldsRoom  = 4096
	severalRoom = 131_072
	mostLimits  = 32
)

// Headers returns the header fields that tell the caller of a server what this decision left: of each
// limit for a call with [EachLimit], otherwise of the tightest one. A refusal has Retry-After, in whole
// seconds, if the time is known.
func (d *Decision) Headers(fields HeaderFields) (map[string]string, error) {
	decision := C.pg_decision{
		status: C.PG_STATUS_REFUSED, limiter: -1, limit: C.int64_t(d.Limit), remaining: C.int64_t(d.Remaining),
		retry_after_us: microsFrom(d.RetryAfter), reset_after_us: microsFrom(d.ResetAfter),
	}
	if d.Allowed() {
		decision.status = C.PG_STATUS_GRANTED
	}
	if !d.At.IsZero() {
		decision.at_us = C.int64_t(d.At.UnixMicro())
	}
	putLabel(&decision.label, d.Label)
	var names limiterNames
	decision.limiter = names.index(d.Limiter)
	var limits C.pg_decision_limits
	for i, it := range d.Limits[:min(len(d.Limits), mostLimits)] {
		limits.each[i] = C.pg_decision_limit{
			limiter: names.index(it.Limiter), kind: C.int32_t(kindNumber(it.Kind)), limit: C.int64_t(it.Limit),
			interval_us: microsFrom(it.Interval), remaining: C.int64_t(it.Remaining),
			retry_after_us: microsFrom(it.RetryAfter), reset_after_us: microsFrom(it.ResetAfter),
		}
		putLabel(&limits.each[i].label, it.Label)
		limits.count++
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	array, err := texts("limiters", names, &pinner)
	if err != nil {
		return nil, err
	}
	converted, err := text("fields", fields)
	if err != nil {
		return nil, err
	}
	room := fieldsRoom
	if len(names) > 0 {
		room = severalRoom
	}
	found, err := written(room, func(to *C.char, room C.size_t, e *C.pg_error) C.pg_code {
		return C.pg_decision_headers(&decision, &limits, array, C.size_t(len(names)), converted, to, room, e)
	})
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	for _, line := range lines(found) {
		name, value, _ := strings.Cut(line, ": ")
		headers[name] = value
	}
	return headers, nil
}

// Limits returns the limits of the policy, or of limiters that decide together those of each in turn.
func (l *Limiter) Limits() ([]Limit, error) {
	defer runtime.KeepAlive(l)
	var limits [mostLimits]C.pg_labelled_limit
	var count C.size_t
	err := run(func(e *C.pg_error) C.pg_code {
		return C.pg_limiter_limits(l.handle, &limits[0], mostLimits, &count, e)
	})
	return readLimits(limits[:], count), err
}

// CallerOption is an option of [CallerKey].
type CallerOption func(*callerOptions)

type callerOptions struct {
	forwardedFor   string
	trustedProxies []string
	ipv6Prefix     C.int64_t
}

// ForwardedFor is the value of X-Forwarded-For, with a comma between several fields. It counts only
// behind a trusted proxy.
func ForwardedFor(value string) CallerOption {
	return func(o *callerOptions) { o.forwardedFor = value }
}

// TrustedProxies are the proxies in front of this process: addresses, networks such as "10.0.0.0/8",
// and "unix" for a proxy that connects by a Unix socket.
func TrustedProxies(proxies ...string) CallerOption {
	return func(o *callerOptions) { o.trustedProxies = proxies }
}

// IPv6Prefix is how many bits of an IPv6 address tell callers apart, from 1 to 128; by default 64.
func IPv6Prefix(bits int) CallerOption {
	return func(o *callerOptions) { o.ipv6Prefix = C.int64_t(bits) }
}

// CallerKey returns the key of a caller by the address of its connection, such as the RemoteAddr of a
// request. An IPv4 address is itself, and of an IPv6 address it is the network, 2001:db8:1:2::/64;
// ports, brackets and zones are cut. Behind a trusted proxy the caller is the last entry of
// [ForwardedFor] that is no trusted proxy. What is no address is as in [PlainKey].
//
// It fails only for [TrustedProxies] and [IPv6Prefix]; every address gives a key.
func CallerKey(address string, options ...CallerOption) (string, error) {
	o := callerOptions{ipv6Prefix: -1}
	for _, option := range options {
		option(&o)
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	proxies, err := texts("TrustedProxies", o.trustedProxies, &pinner)
	if err != nil {
		return "", err
	}
	key, err := written(keyRoom, func(to *C.char, room C.size_t, e *C.pg_error) C.pg_code {
		return C.pg_caller_key(bytesOf(address), C.size_t(len(address)), bytesOf(o.forwardedFor),
			C.size_t(len(o.forwardedFor)), proxies, C.size_t(len(o.trustedProxies)), o.ipv6Prefix, to, room, e)
	})
	return C.GoString(key), err
}

// PlainKey returns the key for a text of a stranger, such as a header: the text itself if it is a key,
// which has 1 to 512 bytes of UTF-8 without a zero byte, otherwise "sha256:" and its digest in
// hexadecimal.
func PlainKey(text string) string {
	// It fails only without a buffer.
	key, _ := written(keyRoom, func(to *C.char, room C.size_t, e *C.pg_error) C.pg_code {
		return C.pg_plain_key(bytesOf(text), C.size_t(len(text)), to, room, e)
	})
	return C.GoString(key)
}

// limiterNames has the names of limiters that decide together, by their index.
type limiterNames []string

// index returns that of a name; -1 for none.
func (n *limiterNames) index(name string) C.int32_t {
	if name == "" {
		return -1
	}
	for i, known := range *n {
		if known == name {
			return C.int32_t(i)
		}
	}
	*n = append(*n, name)
	return C.int32_t(len(*n) - 1)
}

// texts returns an array of texts; NULL without any. The pinner keeps them.
func texts(argument string, words []string, pinner *runtime.Pinner) (**C.char, error) {
	if len(words) == 0 {
		return nil, nil
	}
	array := make([]*C.char, len(words))
	pinner.Pin(&array[0])
	for i, word := range words {
		converted, err := text(argument, word)
		if err != nil {
			return nil, err
		}
		pinner.Pin(converted)
		array[i] = converted
	}
	return &array[0], nil
}

// written returns the text that a function writes into memory with this room.
func written(room int, write func(*C.char, C.size_t, *C.pg_error) C.pg_code) (*C.char, error) {
	memory := make([]C.char, room)
	err := run(func(e *C.pg_error) C.pg_code { return write(&memory[0], C.size_t(room), e) })
	return &memory[0], err
}

// bytesOf returns the bytes of a text; NULL for none.
func bytesOf(text string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(text))) }

// putLabel writes a label, of which there is always room for one that a limit has.
func putLabel(place *[33]C.char, label string) {
	for i, char := range []byte(label)[:min(len(label), len(place)-1)] {
		place[i] = C.char(char)
	}
}

// microsFrom returns the microseconds of a time that a decision has.
func microsFrom(duration time.Duration) C.int64_t {
	if duration == Unknown {
		return -1
	}
	return C.int64_t(duration / time.Microsecond)
}

package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// The room for the texts of a StreamUsage, which is always enough.
const usageRoom = 65_536

// StreamUsage finds the usage in the body of a response that is read in chunks, without holding the
// body: JSON, or server-sent events with JSON, of OpenAI (in chat it sends usage if the request has
// stream_options.include_usage), Anthropic, Gemini and Groq; or GraphQL with extensions.cost. It is
// an [io.Writer], for an [io.TeeReader] on the body; its [StreamUsage.Body] is that of a [Response].
type StreamUsage struct{ handle *C.pg_stream_usage }

// NewStreamUsage creates a reader for one body.
func NewStreamUsage() (*StreamUsage, error) {
	usage := new(StreamUsage)
	if err := run(func(e *C.pg_error) C.pg_code { return C.pg_stream_usage_new(&usage.handle, e) }); err != nil {
		return nil, err
	}
	runtime.AddCleanup(usage, func(handle *C.pg_stream_usage) { C.pg_stream_usage_close(handle, nil) }, usage.handle)
	return usage, nil
}

// Write reads the next bytes of the body, which may end anywhere.
func (u *StreamUsage) Write(chunk []byte) (int, error) {
	defer runtime.KeepAlive(u)
	if len(chunk) == 0 {
		return 0, nil
	}
	err := run(func(e *C.pg_error) C.pg_code {
		return C.pg_stream_usage_feed(u.handle, (*C.char)(unsafe.Pointer(&chunk[0])), C.size_t(len(chunk)), e)
	})
	if err != nil {
		return 0, err
	}
	return len(chunk), nil
}

// Body returns what was found as the body of a response: JSON, or nothing.
func (u *StreamUsage) Body() ([]byte, error) {
	defer runtime.KeepAlive(u)
	room := make([]byte, usageRoom)
	err := run(func(e *C.pg_error) C.pg_code {
		return C.pg_stream_usage_body(u.handle, (*C.char)(unsafe.Pointer(&room[0])), usageRoom, e)
	})
	return []byte(C.GoString((*C.char)(unsafe.Pointer(&room[0])))), err
}

// Ignored returns what was found and not kept, with the reason; it is complete after the last chunk.
func (u *StreamUsage) Ignored() ([]string, error) {
	defer runtime.KeepAlive(u)
	room := make([]byte, usageRoom)
	err := run(func(e *C.pg_error) C.pg_code {
		return C.pg_stream_usage_ignored(u.handle, (*C.char)(unsafe.Pointer(&room[0])), usageRoom, e)
	})
	return lines((*C.char)(unsafe.Pointer(&room[0]))), err
}

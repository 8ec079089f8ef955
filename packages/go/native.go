package paddlegate

/*
#cgo !paddlegate_installed LDFLAGS: -L${SRCDIR}/../../target/release -L${SRCDIR} -l:libpaddlegate.a
#cgo paddlegate_installed pkg-config: paddlegate
#cgo LDFLAGS: -lpthread -lm
#cgo linux LDFLAGS: -lgcc_eh -ldl
#include "paddlegate.h"
#include <stdlib.h>
*/
import "C"

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Version is the version of the library inside.
func Version() string { return C.GoString(C.pg_version()) }

// GraphQLCost returns the estimated cost of a GraphQL query in points, from 1, before it is sent.
// variables is a JSON object, or empty. rules is "shopify" or "github". operation names one of
// several operations, and is empty when there is one.
func GraphQLCost(query, variables, operation, rules string) (int64, error) {
	texts, err := textsOf("query", query, "variables", variables, "operation", operation, "rules", rules)
	if err != nil {
		return 0, err
	}
	var units C.int64_t
	err = run(func(e *C.pg_error) C.pg_code {
		return C.pg_graphql_cost(texts[0], optional(variables, texts[1]), optional(operation, texts[2]),
			optional(rules, texts[3]), &units, e)
	})
	return int64(units), err
}

// Go handles signals on threads of its own, so that none may cut a call short.
func init() {
	if err := run(func(e *C.pg_error) C.pg_code { return C.pg_after_signal(C.PG_FOREVER, e) }); err != nil {
		panic(err)
	}
}

// run makes a call of the library.
func run(call func(*C.pg_error) C.pg_code) error {
	var e C.pg_error
	return errorOf(call(&e), &e)
}

// text returns a text that ends with a zero byte. C may read it during one call.
func text(argument, value string) (*C.char, error) {
	if strings.IndexByte(value, 0) >= 0 {
		return nil, &InvalidError{Argument: argument, Reason: "has a zero byte"}
	}
	if !utf8.ValidString(value) {
		return nil, &InvalidError{Argument: argument, Reason: "is not UTF-8"}
	}
	bytes := make([]byte, len(value)+1)
	copy(bytes, value)
	return (*C.char)(unsafe.Pointer(&bytes[0])), nil
}

// textsOf converts pairs of an argument and its text.
func textsOf(pairs ...string) ([]*C.char, error) {
	texts := make([]*C.char, len(pairs)/2)
	for i := range texts {
		var err error
		if texts[i], err = text(pairs[2*i], pairs[2*i+1]); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// optional returns NULL for an empty text.
func optional(value string, converted *C.char) *C.char {
	if value == "" {
		return nil
	}
	return converted
}

// freeText frees a text of C.CString.
func freeText(converted *C.char) { C.free(unsafe.Pointer(converted)) }

// newID returns an id that no other call has.
func newID() string {
	var id [72]C.char
	// It fails only without a buffer.
	_ = run(func(e *C.pg_error) C.pg_code { return C.pg_new_id(&id[0], e) })
	return C.GoString(&id[0])
}
